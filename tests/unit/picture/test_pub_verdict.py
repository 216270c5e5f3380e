"""What a PodUnavailableBudget says: the decision of its gate, with its reason."""

from typing import Any

import msgspec
import pytest

from intact.model.pod import DetailedPod
from intact.model.pub import PodUnavailableBudget
from intact.picture.budget_verdict import BudgetVerdict
from intact.picture.pub_verdict import judge_pub
from intact.picture.reasons import Reason, Word
from tests.support.pictures import NOW, ago, group, picture, pod, pub

POD, *_ = group("shard-1")
DOWN = group("shard-0", ready=False, since=ago(minutes=4))


def said(
    budget: PodUnavailableBudget,
    asked: DetailedPod = POD,
    *,
    intact: bool | None = True,
    leading: bool | None = True,
) -> BudgetVerdict:
    others = [one for one in group("shard-1") if one.metadata.name != asked.metadata.name]
    found = picture(asked, *others, *DOWN, pubs=[budget], intact=intact)
    return judge_pub(found.budgets[0], asked, found.above(asked), leading, NOW)


def recorded(at: str, group: str = "shard-1") -> dict[str, Any]:
    record = {"name": "shard-1-0", "operation": "EVICT", "at": at, "resourceVersion": "7"}
    return {"pods": {POD.metadata.uid: {**record, "group": group}}}


def stayed() -> dict[str, Any]:
    return {"stayed": {POD.metadata.uid: {"operation": "EVICT", "at": ago(seconds=10)}}}


AUDIT = {"intact.dev/enforcement": "Audit"}
HOLDS = {"intact.dev/unhealthy-policy": "IfHealthyBudget"}
IN_GROUP_DOWN = {"unavailable_groups": ["shard-0"], "rules": "unhealthy=IfHealthyBudget"}
UNREAD = msgspec.structs.replace(pub(), problems=["spec.maxUnavailable: expected int or str"])
EXEMPT = pod(
    "shard-1-0",
    group="shard-1",
    metadata={
        "name": "shard-1-0",
        "namespace": "llm",
        "labels": {"app": "llm", "shard": "shard-1"},
        "annotations": {"pub.kruise.io/no-protect": "true"},
    },
)
OWNED = {"name": "shard-1-0", "namespace": "llm"}
Case = tuple[BudgetVerdict, Word, Reason, str]

CASES: dict[str, Case] = {
    "a unit is left": (said(pub(allowed=2)), Word.MAY_GO, Reason.ALLOWED, "2 disruptions allowed"),
    "no unit is left": (
        said(pub()),
        Word.WAITS,
        Reason.EXHAUSTED,
        "3 of 4 groups are available, the budget requires 3",
    ),
    "it never allows anything": (
        said(pub(maxUnavailable=0)),
        Word.NEVER,
        Reason.NEVER_ALLOWS,
        "maxUnavailable is 0: no group can ever go; change the amount, or scale up",
    ),
    "pods are held one by one": (
        said(pub(need=8, ledger={"reached": False})),
        Word.WAITS,
        Reason.NEED_NOT_REACHED,
        "3 of 4 pods are available, the budget requires 3; no group has the 8 pods that it needs",
    ),
    "pods are held one by one, and none can go": (
        said(pub(need=8, ledger={"reached": False}, desired=4, maxUnavailable=0)),
        Word.NEVER,
        Reason.NEED_NOT_REACHED,
        "3 of 4 pods are available, the budget requires 4; no group has the 8 pods that it needs",
    ),
    "its group is down": (
        said(pub(ledger={"unavailable_groups": ["shard-1"]})),
        Word.MAY_GO,
        Reason.GROUP_UNAVAILABLE,
        "its group is down already: it costs nothing",
    ),
    "its group has surplus": (
        said(pub(ledger={"surplus": {"shard-1": 1}})),
        Word.MAY_GO,
        Reason.SURPLUS,
        "its group has more pods than it needs",
    ),
    "it is not ready": (
        said(pub(), DOWN[0]),
        Word.MAY_GO,
        Reason.NOT_AVAILABLE,
        "it is not ready: it costs nothing",
    ),
    "its owner does not want it": (
        said(pub(ledger={"released": ["uid-web"]})),
        Word.MAY_GO,
        Reason.RELEASED,
        "its owner does not want it any more",
    ),
    "the unhealthy policy holds it": (
        said(pub(current=2, ledger=IN_GROUP_DOWN, annotations=HOLDS), DOWN[0]),
        Word.WAITS,
        Reason.UNHEALTHY,
        (
            "2 of 4 groups are available, the budget requires 3; the pod is not ready, and "
            "intact.dev/unhealthy-policy holds it until then"
        ),
    ),
    "it was let go just now": (
        said(pub(ledger=recorded(ago(seconds=2)))),
        Word.MAY_GO,
        Reason.RECORDED,
        "it was let go already",
    ),
    "it was let go and stays": (
        said(pub(ledger=recorded(ago(seconds=15)))),
        Word.WAITS,
        Reason.NOT_GONE,
        "it was let go and is still here: another webhook, or a budget, refuses it",
    ),
    "it has had its turn": (
        said(pub(ledger=stayed())),
        Word.WAITS,
        Reason.NOT_GONE,
        "it was let go and is still here: another webhook, or a budget, refuses it",
    ),
    "another pod of its group stays": (
        said(
            pub(
                ledger={
                    "unavailable_groups": ["shard-1"],
                    "held": {"shard-1": ago(seconds=15)},
                }
            )
        ),
        Word.WAITS,
        Reason.NOT_GONE,
        "it was let go and is still here: another webhook, or a budget, refuses it",
    ),
    "the budget cannot be read": (
        said(UNREAD),
        Word.NEVER,
        Reason.UNREADABLE,
        "the budget cannot be read: spec.maxUnavailable: expected int or str",
    ),
    "its rules have changed": (
        said(pub(allowed=2, ledger={"rules": "total=9"})),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "Intact is still counting its pods",
    ),
    "its pods are not counted yet": (
        said(pub(total=0)),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "Intact is still counting its pods",
    ),
    "the pod is exempt": (
        said(pub(), EXEMPT),
        Word.MAY_GO,
        Reason.EXEMPT,
        "the pod has the annotation pub.kruise.io/no-protect",
    ),
    "the budget ignores the pod": (
        said(pub(ignoredPodSelector={"matchLabels": {"shard": "shard-1"}})),
        Word.MAY_GO,
        Reason.EXEMPT,
        "its ignoredPodSelector selects the pod",
    ),
    "it does not hold evictions": (
        said(pub(protectOperations=["DELETE", "UPDATE"])),
        Word.MAY_GO,
        Reason.EXEMPT,
        "it does not hold evictions, only DELETE, UPDATE",
    ),
    "denials are not enforced": (
        said(pub(annotations=AUDIT)),
        Word.MAY_GO,
        Reason.NOT_ENFORCED,
        "3 of 4 groups are available, the budget requires 3",
    ),
    "Intact is not installed": (
        said(pub(), intact=False),
        Word.MAY_GO,
        Reason.NOT_HELD,
        "Intact is not installed here: nothing holds this budget",
    ),
    "the namespace is not gated": (
        said(pub(working=("False", "NotGated", "the API server does not ask Intact"))),
        Word.MAY_GO,
        Reason.NOT_HELD,
        "it holds nothing",
    ),
    "Intact is down": (
        said(pub(allowed=2), leading=False),
        Word.WAITS,
        Reason.INTACT_DOWN,
        "Intact seems to be down: the API server lets nothing go without it",
    ),
}


@pytest.mark.parametrize(("found", "word", "reason", "text"), CASES.values(), ids=list(CASES))
def test_the_verdict_has_a_word_a_reason_and_a_text(
    found: BudgetVerdict, word: Word, reason: Reason, text: str
) -> None:
    assert (found.word, found.reason, found.text) == (word, reason, text)
    assert bool(found.when) == (word is not Word.MAY_GO)


def test_what_is_unknown_of_the_total_is_said() -> None:
    budget = pub(total=0)
    condition = {"type": "TotalUnknown", "status": "True", "message": "no scale"}
    status = msgspec.to_builtins(budget)["status"] | {"conditions": [condition]}
    status["ledger"] = '{"reached": true}'
    found = said(
        msgspec.structs.replace(budget, status=msgspec.convert(status, type(budget.status)))
    )
    assert (found.word, found.reason, found.text) == (Word.NEVER, Reason.NOT_COUNTED, "no scale")


def test_pods_beyond_a_scale_in_are_free() -> None:
    beyond = pod("web-5", group="shard-1", owner=("StatefulSet", "web"))
    budget = pub(ledger={"scaled_in": {"uid-web": (0, 4)}})
    assert said(budget, beyond).reason is Reason.RELEASED
    assert said(budget, pod("web-3", group="shard-1")).reason is Reason.EXHAUSTED


def test_what_hangs_on_a_pod_beyond_a_scale_in_is_free() -> None:
    leader = pod("web-5", group="shard-1", owner=("StatefulSet", "web"))
    worker = pod("web-5-1", group="shard-1", owner=("Pod", "web-5"))
    found = picture(leader, worker, pubs=[pub(ledger={"scaled_in": {"uid-web": (0, 4)}})])
    said_ = judge_pub(found.budgets[0], worker, found.above(worker), True, NOW)
    assert said_.reason is Reason.RELEASED


def test_it_waits_for_the_groups_that_are_down_with_their_causes() -> None:
    [waited] = said(pub()).waits_for
    assert waited.unit.name == "shard-0"
    assert [one.name for one in waited.causes] == ["shard-0-0", "shard-0-1"]
    assert said(pub()).when == "shard-0 is ready again"


def test_others_go_first_until_a_time() -> None:
    when = "what refuses it lets it go; other pods go first until 2026-03-01T12:00:20Z"
    assert said(pub(ledger=stayed())).when == when
