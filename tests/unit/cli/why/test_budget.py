"""`intact why pub/NAME` and `pdb/NAME`, word for word."""

from typing import Any

from intact.cli.why.budget import about_budget
from intact.cli.why.events import Refused
from tests.support.pictures import (
    NOW,
    ago,
    group,
    pdb,
    picture,
    pod,
    pub,
    unschedulable,
)

DOWN = unschedulable("shard-0-1", ago(minutes=4), group="shard-0")
PODS = [*group("shard-1"), pod("shard-0-0", group="shard-0"), DOWN]


def said(*pods: Any, refused: tuple[Refused, ...] = (), **objects: Any) -> list[str]:
    found = picture(*(pods or PODS), **objects)
    answer = about_budget(found, found.budgets[0], refused, NOW)
    return [*answer.lines, f"exit {answer.exit_code}"]


def test_a_budget_in_groups_that_waits() -> None:
    refused = Refused("Pod shard-1-0 cannot go now", 12, ago(seconds=5))
    assert said(pubs=[pub()], refused=(refused,)) == [
        "pub/llm counts groups: 3 of 4 available, 3 required, 0 may go now   waits",
        "  GROUP    STATE      READY  NEED  SINCE  PODS",
        "  shard-0  down       1/2    2     4m     shard-0-0 (node-0), shard-0-1 (no node)",
        "  shard-1  available  2/2    2     -      shard-1-0 (node-0), shard-1-1 (node-0)",
        (
            "    shard-0 is down for 4m: shard-0-1 Pending, "
            "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu"
        ),
        "It lets a group go when shard-0 is ready again.",
        "refused lately:",
        "  12 times, last 5s ago: Pod shard-1-0 cannot go now",
        "exit 3",
    ]


def test_a_budget_in_pods_that_allows_something() -> None:
    assert said(pod("a"), pod("b", ready=False), pdbs=[pdb(allowed=1)]) == [
        "pdb/llm-pods counts pods: 3 of 4 available, 3 required, 1 may go now   may go",
        "  POD  STATE      SINCE  NODE",
        "  b    down       60m    node-0",
        "  a    available  -      node-0",
        "    b is down for 60m: Running, not ready",
        "exit 0",
    ]


def test_a_budget_that_never_allows_anything() -> None:
    assert said(pod("a"), pdbs=[pdb(desired=4)])[-3:] == [
        "  it requires 4 of 4 pods: none can ever go; change the amount, or scale up",
        "It lets nothing go until pdb/llm-pods is changed, or its workload is scaled up.",
        "exit 4",
    ]


def test_a_budget_without_intact() -> None:
    lines = said(pod("a"), pubs=[pub()], intact=False)
    assert lines[-2:] == ["  Intact is not installed here: nothing holds this budget", "exit 0"]


def test_a_budget_that_does_not_work_says_so() -> None:
    audit = pub(annotations={"intact.dev/enforcement": "Audit"})
    assert said(pubs=[audit])[-2] == (
        "  note: by its enforcement Audit, it tells of denials and holds nothing"
    )


def test_many_units_that_are_up_are_counted() -> None:
    pods = [pod(f"p{number:02}") for number in range(40)]
    lines = said(*pods, pdbs=[pdb(allowed=1)])
    assert "  and 10 more that are available" in lines


def test_a_pod_in_no_group_is_named_as_such() -> None:
    lines = said(*group("shard-1"), pod("lone"), pubs=[pub(allowed=1)])
    assert any(line.startswith("  lone (in no group)") for line in lines)


def test_a_document_has_units_and_refusals() -> None:
    found = picture(*PODS, pubs=[pub()])
    document = about_budget(found, found.budgets[0], [Refused("a", 1, "")], NOW).document
    assert (document["kind"], document["unit"]) == ("PodUnavailableBudget", "group")
    assert (document["allowed"], document["current"], document["total"]) == (0, 3, 4)
    assert [one["name"] for one in document["units"]] == ["shard-0", "shard-1"]
    assert document["refused"] == [{"message": "a", "count": 1, "last": None}]
