"""`intact why pod/NAME`, word for word."""

from typing import Any

import pytest

from intact.cli.why.pod import about_pod
from intact.model.pod import DetailedPod
from tests.support.pictures import (
    NOW,
    ago,
    group,
    group_pdb,
    node,
    pdb,
    picture,
    pod,
    pub,
    unschedulable,
)

SHARDS = [one for shard in ("shard-1", "shard-2", "shard-3") for one in group(shard, size=4)]
DOWN = [
    *group("shard-0", size=3),
    unschedulable("shard-0-3", ago(minutes=4, seconds=12), group="shard-0"),
]
PODS = [*SHARDS, *DOWN]
LEDGER = {"unavailable_groups": ["shard-0"]}


def said(name: str | DetailedPod, pods: list[DetailedPod] | None = None, **objects: Any) -> str:
    found = PODS if pods is None else pods
    asked = (
        next((one for one in found if one.metadata.name == name), None)
        if isinstance(name, str)
        else name
    )
    assert asked is not None
    answer = about_pod(picture(*found, **objects), asked, NOW)
    return "\n".join([*answer.lines, f"exit {answer.exit_code}"])


def test_a_pod_that_waits() -> None:
    budget = pub(need=4, ledger=LEDGER)
    assert said("shard-2-1", pubs=[budget], pdbs=[pdb(allowed=2)]) == (
        """\
pod shard-2-1 (node-0) belongs to group shard-2 (4 of 4 ready, needs 4)
  pub/llm   3 of 4 groups are available, the budget requires 3   waits
    shard-0 is down for 4m12s: shard-0-3 Pending, Unschedulable: 0/3 nodes have 8 nvidia.com/gpu
  pdb/llm-pods   2 disruptions allowed                           may go
It may go when shard-0 is ready again.
  to let it go now: kubectl annotate pod shard-2-1 -n llm pub.kruise.io/no-protect=true
exit 3"""
    )


def test_a_pod_that_may_go_because_its_group_is_down() -> None:
    assert said("shard-0-3", pubs=[pub(need=4, ledger=LEDGER)]) == (
        """\
pod shard-0-3 (on no node) belongs to group shard-0 (3 of 4 ready, needs 4)
  it is down for 4m12s: Pending, Unschedulable: 0/3 nodes have 8 nvidia.com/gpu
  pub/llm   it is not ready: it costs nothing   may go
It may go now.
exit 0"""
    )


def test_a_pod_that_never_goes() -> None:
    assert said("shard-1-0", pdbs=[pdb("a", allowed=1), pdb("b", allowed=1)]) == (
        """\
pod shard-1-0 (node-0) is ready
  pdb/a   the API server evicts no pod that has two PodDisruptionBudgets   never
  pdb/b   the API server evicts no pod that has two PodDisruptionBudgets   never
It does not go until only one of pdb/a and pdb/b covers it.
  to let it go now: kubectl delete pod shard-1-0 -n llm
exit 4"""
    )


def test_a_pod_without_a_budget() -> None:
    lone = pod("lone", owner=None)
    assert said(lone, [lone]) == (
        """\
pod lone (node-0) is ready
  no budget covers it
It may go now.
  note: it has no controller: it does not come back, and kubectl drain asks for --force
exit 0"""
    )


def test_a_pod_on_a_dead_node() -> None:
    going = pod("a", deleted=ago(minutes=9))
    assert said(going, [going], nodes=[node(ready=False)]) == (
        """\
pod a (node-0) is not ready
  it is being deleted, and its node node-0 does not confirm: NotReady   waits
It is gone when node-0 is ready again, or is deleted.
  to let it go now: kubectl delete pod a -n llm --force --grace-period=0
exit 3"""
    )


def test_without_intact_kubernetes_counts_pods() -> None:
    assert said("shard-1-0", pdbs=[group_pdb(need=4, allowed=1)], intact=False) == (
        """\
pod shard-1-0 (node-0) belongs to group shard-1 (4 of 4 ready, needs 4)
  pdb/llm-groups   1 disruption allowed   may go
It may go now.
  note: pdb/llm-groups: Intact is not installed here: Kubernetes counts pods, not groups
exit 0"""
    )


@pytest.mark.parametrize("intact", [None, True])
def test_a_document_has_what_the_lines_say(intact: bool | None) -> None:
    asked = SHARDS[0]
    found = picture(*PODS, pubs=[pub(need=4, ledger=LEDGER)], intact=intact)
    document = about_pod(found, asked, NOW).document
    assert {key: document[key] for key in ("kind", "name", "verdict", "exitCode", "reason")} == {
        "kind": "pod",
        "name": "shard-1-0",
        "verdict": "waits",
        "exitCode": 3,
        "reason": "BudgetExhausted",
    }
    [budget] = document["budgets"]
    assert (budget["budget"], budget["when"]) == ("pub/llm", "shard-0 is ready again")
    assert [one["name"] for one in budget["waitsFor"]] == ["shard-0"]
    assert document["group"]["name"] == "shard-1"
    assert document["release"] == [
        "kubectl annotate pod shard-1-0 -n llm pub.kruise.io/no-protect=true"
    ]
