"""May a pod go, what does it wait for, and how can it go all the same?"""

from typing import Any

import pytest

from intact.model.pod import DetailedPod
from intact.picture.reasons import Reason, Word
from intact.picture.verdict import Judge, PodVerdict, judge
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

POD, *_ = group("shard-2")
DOWN = unschedulable("shard-0-3", ago(minutes=4, seconds=12), group="shard-0")
PODS = [*group("shard-1"), *group("shard-2"), DOWN]


def said(pods: list[DetailedPod], asked: DetailedPod, **objects: Any) -> PodVerdict:
    return judge(picture(*pods, **objects), asked, NOW)


def test_the_strictest_budget_decides() -> None:
    found = said(PODS, POD, pubs=[pub()], pdbs=[pdb(allowed=2)])
    assert (found.word, found.reason) == (Word.WAITS, Reason.EXHAUSTED)
    assert [(one.budget.reference, one.word) for one in found.budgets] == [
        ("pub/llm", Word.WAITS),
        ("pdb/llm-pods", Word.MAY_GO),
    ]
    assert [one.budget.reference for one in found.holding] == ["pub/llm"]
    assert found.when == "It may go when shard-0 is ready again."
    assert found.release == ("kubectl annotate pod shard-2-0 -n llm pub.kruise.io/no-protect=true",)
    [waited] = found.waits_for
    assert waited.causes[0].text == "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu"


def test_the_pod_is_shown_with_its_group() -> None:
    found = said(PODS, POD, pubs=[pub()])
    assert found.group is not None
    assert (found.group.name, found.group.available, found.group.need) == ("shard-2", 2, 2)
    assert found.cause is None


def test_every_budget_that_holds_it_says_when() -> None:
    found = said(PODS, POD, pubs=[pub()], pdbs=[pdb(current=2)])
    assert found.when == "It may go when shard-0 is ready again and 2 more pods are ready."
    assert found.release == (
        "kubectl annotate pod shard-2-0 -n llm pub.kruise.io/no-protect=true",
        "kubectl delete pod shard-2-0 -n llm",
    )


def test_what_never_lets_it_go_is_all_that_matters() -> None:
    found = said(PODS, POD, pubs=[pub()], pdbs=[pdb("a"), pdb("b")])
    assert (found.word, found.reason) == (Word.NEVER, Reason.TWO_BUDGETS)
    assert found.when == "It does not go until only one of pdb/a and pdb/b covers it."
    assert found.holding[0].reason is Reason.TWO_BUDGETS


def test_without_a_budget_it_may_go() -> None:
    found = said(PODS, POD)
    assert (found.word, found.reason, found.when) == (Word.MAY_GO, Reason.NO_BUDGET, "")
    assert found.release == ()


def with_finalizers(*names: str) -> DetailedPod:
    meta = {"name": "a", "namespace": "llm", "deletionTimestamp": ago(minutes=1)}
    return pod("a", metadata={**meta, "finalizers": list(names)})


DAEMON = pod("d", owner=("DaemonSet", "agent"))
STATIC = {"annotations": {"kubernetes.io/config.mirror": "hash"}}
MIRROR = pod("m", metadata={"name": "m", "namespace": "llm", **STATIC})
GOING = pod("a", deleted=ago(seconds=9))

OWN: dict[str, tuple[PodVerdict, Word, Reason, str, str]] = {
    "it has finished": (
        said([], pod("a", phase="Succeeded")),
        Word.MAY_GO,
        Reason.FINISHED,
        "it has ended: Succeeded",
        "",
    ),
    "it is being deleted": (
        said([], GOING, nodes=[node()]),
        Word.WAITS,
        Reason.TERMINATING,
        "it is being deleted",
        "It is gone when its containers have ended.",
    ),
    "a finalizer holds it": (
        said([], with_finalizers("example.com/x")),
        Word.WAITS,
        Reason.FINALIZER,
        "it is being deleted, and the finalizer example.com/x holds it",
        "It is gone when example.com/x is removed, as a controller should do.",
    ),
    "finalizers hold it": (
        said([], with_finalizers("a/x", "b/y")),
        Word.WAITS,
        Reason.FINALIZER,
        "it is being deleted, and the finalizers a/x and b/y hold it",
        "It is gone when a/x and b/y are removed, as a controller should do.",
    ),
    "its node is not ready": (
        said([], GOING, nodes=[node(ready=False)]),
        Word.WAITS,
        Reason.NODE_NOT_READY,
        "it is being deleted, and its node node-0 does not confirm: NotReady",
        "It is gone when node-0 is ready again, or is deleted.",
    ),
    "a DaemonSet's": (
        said([DAEMON], DAEMON, pdbs=[pdb()]),
        Word.NEVER,
        Reason.DAEMON_SET,
        "a pod of the DaemonSet agent: drains leave it, for it would come back",
        "It does not go until its DaemonSet leaves the node.",
    ),
    "a mirror": (
        said([MIRROR], MIRROR),
        Word.NEVER,
        Reason.MIRROR,
        "a mirror of a static pod: the kubelet of its node runs it, and drains leave it",
        "It does not go until its manifest is taken from the node.",
    ),
}


@pytest.mark.parametrize(("found", "word", "reason", "text", "when"), OWN.values(), ids=list(OWN))
def test_what_holds_the_pod_itself(
    found: PodVerdict, word: Word, reason: Reason, text: str, when: str
) -> None:
    assert (found.word, found.reason, found.text, found.when) == (word, reason, text, when)


def test_a_pod_that_goes_asks_no_budget() -> None:
    assert said([GOING], GOING, pdbs=[pdb()]).budgets == ()


def test_a_pod_on_a_dead_node_can_be_forgotten() -> None:
    found = said([], GOING, nodes=[node(ready=False)])
    assert found.release == ("kubectl delete pod a -n llm --force --grace-period=0",)


def test_with_intact_down_the_namespace_is_released() -> None:
    found = said(PODS, POD, pubs=[pub(allowed=1)], leading=False)
    assert found.reason is Reason.INTACT_DOWN
    assert found.release == ("kubectl label namespace llm intact.dev/gated-",)


def test_notes_say_what_a_drain_asks_for() -> None:
    volumes = {"nodeName": "n", "volumes": [{"name": "cache", "emptyDir": {}}]}
    found = said([], pod("a", owner=None, spec=volumes))
    assert found.word is Word.MAY_GO
    assert found.notes == (
        "it has no controller: it does not come back, and kubectl drain asks for --force",
        "it has an emptyDir, which is lost: kubectl drain asks for --delete-emptydir-data",
    )


def test_notes_of_budgets_name_them() -> None:
    [note] = said(PODS, POD, pdbs=[group_pdb(allowed=1)], intact=False).notes
    assert note.startswith("pdb/llm-groups: Intact is not installed here")


def test_one_judge_answers_for_all_pods_of_a_picture() -> None:
    found = picture(*PODS, pdbs=[group_pdb()])
    judged = Judge(found, NOW)
    reasons = [judged.of(one).reason for one in PODS]
    assert reasons.count(Reason.EXHAUSTED) == 4
