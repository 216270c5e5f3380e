"""What PodDisruptionBudgets say: the API server's rule, and that of the gate for groups."""

from typing import Any

import msgspec
import pytest

from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod
from intact.model.scheduling import PodGroup
from intact.picture.budget_verdict import BudgetVerdict
from intact.picture.budgets import BudgetPicture
from intact.picture.definitions import NamespaceDefinitions
from intact.picture.pdb_verdict import LiveGroups, judge_pdbs
from intact.picture.reasons import Reason, Word
from tests.support.pictures import NOW, ago, group, group_pdb, pdb, picture, pod, with_spec

LWS = "leaderworkerset.sigs.k8s.io"
UP = [one for name in ("shard-1", "shard-2", "shard-3") for one in group(name)]
POD = UP[0]
DOWN = group("shard-0", ready=False, since=ago(minutes=4))
UNKNOWN = pod("u", labels={f"{LWS}/name": "llm", f"{LWS}/group-key": "k"})


def judged(
    *budgets: PodDisruptionBudget,
    asked: DetailedPod = POD,
    more: tuple[DetailedPod, ...] = (),
    intact: bool | None = True,
    leading: bool | None = True,
) -> list[BudgetVerdict]:
    pods = {one.metadata.name: one for one in (*UP, *DOWN, *more, asked)}
    found = picture(*pods.values(), pdbs=budgets, intact=intact)

    def live_of(one: BudgetPicture) -> LiveGroups:
        assert isinstance(one.budget, PodDisruptionBudget)
        return LiveGroups(one.budget, pods.values(), NamespaceDefinitions())

    return judge_pdbs(found.budgets, asked, live_of, leading, NOW)


def said(*budgets: PodDisruptionBudget, **how: Any) -> BudgetVerdict:
    return judged(*budgets, **how)[0]


UNREADY = DOWN[0]
PENDING = pod("p", ready=False, phase="Pending", group="shard-1")
FAILED = [
    {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "SyncFailed",
        "message": 'found no controller ref for pod "a"',
    }
]
MANY = {str(number): ago(minutes=1) for number in range(2001)}
LEFT = {"allowed": 1, "available": 4, "needs": {2: 4}}
KEP = {
    "disruptions_allowed_replicas": 0,
    "current_healthy_replicas": 3,
    "desired_healthy_replicas": 3,
    "expected_replicas": 4,
}


def by_server(policy: str | None = None, **numbers: int) -> PodDisruptionBudget:
    """As an API server of KEP-5682 counts and decides. It does not know our label."""
    budget = group_pdb()
    return msgspec.structs.replace(
        with_spec(budget, budget_scope="PodGroup", unhealthy_pod_eviction_policy=policy),
        status=msgspec.structs.replace(budget.status, **{**KEP, **numbers}),
    )


Case = tuple[BudgetVerdict, Word, Reason, str]
SPENT_PODS = "3 of 4 pods are available, the budget requires 3"
SPENT_GROUPS = "3 of 4 groups are available, the budget requires 3"
CASES: dict[str, Case] = {
    "a pod may go": (said(pdb(allowed=2)), Word.MAY_GO, Reason.ALLOWED, "2 disruptions allowed"),
    "no pod may go": (said(pdb()), Word.WAITS, Reason.EXHAUSTED, SPENT_PODS),
    "it never allows anything": (
        said(pdb(desired=4)),
        Word.NEVER,
        Reason.NEVER_ALLOWS,
        "it requires 4 of 4 pods: none can ever go; change the amount, or scale up",
    ),
    "there are two": (
        said(pdb(allowed=2), pdb("other", allowed=2)),
        Word.NEVER,
        Reason.TWO_BUDGETS,
        "the API server evicts no pod that has two PodDisruptionBudgets",
    ),
    "a pending pod": (
        said(pdb(), asked=PENDING),
        Word.MAY_GO,
        Reason.NOT_AVAILABLE,
        "the API server asks no budget about a pod that has not started",
    ),
    "an unready pod, with enough others": (
        said(pdb(), asked=UNREADY),
        Word.MAY_GO,
        Reason.NOT_AVAILABLE,
        "it is not ready: it costs nothing",
    ),
    "an unready pod, without enough others": (
        said(pdb(current=2), asked=UNREADY),
        Word.WAITS,
        Reason.UNHEALTHY,
        (
            "2 of 4 pods are available, the budget requires 3; the pod is not ready, and without "
            "unhealthyPodEvictionPolicy: AlwaysAllow it is held"
        ),
    ),
    "it was not counted": (
        said(pdb(allowed=2, observed=0)),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "the disruption controller is still counting its pods",
    ),
    "it cannot be counted": (
        said(pdb(expected=0, conditions=FAILED)),
        Word.NEVER,
        Reason.NOT_COUNTED,
        'found no controller ref for pod "a"',
    ),
    "too many are on their way": (
        said(pdb(allowed=1, disrupted=MANY)),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "it waits for 2001 pods that it has let go",
    ),
    "a group may go": (
        said(group_pdb(ledger=LEFT, allowed=2), asked=POD, more=tuple(group("shard-0"))),
        Word.MAY_GO,
        Reason.ALLOWED,
        "1 disruption allowed",
    ),
    "no group may go": (said(group_pdb()), Word.WAITS, Reason.EXHAUSTED, SPENT_GROUPS),
    "no group can ever go": (
        said(group_pdb(ledger={"desired": 4})),
        Word.NEVER,
        Reason.NEVER_ALLOWS,
        "it requires 4 of 4 groups: none can ever go; change the amount, or scale up",
    ),
    "a group that is down": (
        said(group_pdb(allowed=1, ledger={"unavailable": {"shard-0": 0}}), asked=UNREADY),
        Word.MAY_GO,
        Reason.NOT_AVAILABLE,
        "it is not ready: it costs nothing",
    ),
    "a group that is down, while too few are up": (
        said(group_pdb(ledger={"desired": 3, "available": 2}), asked=UNREADY),
        Word.WAITS,
        Reason.UNHEALTHY,
        (
            "2 of 4 groups are available, the budget requires 3; the pod is not ready, and without "
            "unhealthyPodEvictionPolicy: AlwaysAllow it is held"
        ),
    ),
    "a ready pod of a group that is down, while too few are up": (
        said(
            group_pdb(ledger={"desired": 4, "expected": 5, "unavailable": {"half": 1}}),
            asked=pod("half-0", group="half"),
        ),
        Word.WAITS,
        Reason.UNHEALTHY,
        (
            "3 of 5 groups are available, the budget requires 4; its group is down, and without "
            "unhealthyPodEvictionPolicy: AlwaysAllow it is held"
        ),
    ),
    "surplus": (
        said(
            group_pdb(allowed=1, ledger={"surplus": {"shard-1": 1}}),
            more=(pod("shard-1-2", group="shard-1"),),
        ),
        Word.MAY_GO,
        Reason.SURPLUS,
        "its group has more pods than it needs",
    ),
    "a need that no group has had": (
        said(group_pdb(ledger={"proven": []})),
        Word.NEVER,
        Reason.NEED_NOT_REACHED,
        "its group needs 2 pods, and no group has had so many",
    ),
    "no group": (
        said(group_pdb(), asked=pod("lone")),
        Word.NEVER,
        Reason.GROUP_UNKNOWN,
        "the budget counts groups, and the pod belongs to none",
    ),
    "a group of unknown need": (
        said(group_pdb(key=None), asked=UNKNOWN),
        Word.WAITS,
        Reason.GROUP_UNKNOWN,
        "it is unknown how many pods k needs",
    ),
    "an invalid setting": (
        said(group_pdb(scope="Shard")),
        Word.NEVER,
        Reason.INVALID,
        (
            'metadata.labels[intact.dev/budget-scope]: Invalid value: "Shard": '
            "'Shard' is not one of Workload, PodGroup, Pod"
        ),
    ),
    "another ledger": (
        said(group_pdb(ledger={"rules": "another"})),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "Intact is still counting its pods",
    ),
    "a ledger of the future": (
        said(group_pdb(disrupted={"x": "2999-01-01T00:00:00Z"})),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "Intact is still counting its pods",
    ),
    "it was let go": (
        said(group_pdb(allowed=1, disrupted={POD.metadata.name: ago(seconds=5)})),
        Word.MAY_GO,
        Reason.RECORDED,
        "it was let go already",
    ),
    "it was let go and stays": (
        said(group_pdb(disrupted={POD.metadata.name: ago(seconds=5)})),
        Word.WAITS,
        Reason.NOT_GONE,
        "its eviction was allowed and has not happened, and no other pod may go",
    ),
    "denials are not enforced": (
        said(group_pdb(settings={"intact.dev/enforcement": "Warn"}, allowed=1)),
        Word.MAY_GO,
        Reason.NOT_ENFORCED,
        SPENT_GROUPS,
    ),
    "groups without Intact count pods": (
        said(group_pdb(), intact=False),
        Word.WAITS,
        Reason.EXHAUSTED,
        SPENT_PODS,
    ),
    "Intact is down": (
        said(group_pdb(ledger=LEFT, allowed=2), leading=False),
        Word.WAITS,
        Reason.INTACT_DOWN,
        "Intact seems to be down: the API server lets nothing go without it",
    ),
    "the API server counts, and no group is known": (
        said(by_server(), asked=POD, intact=False),
        Word.NEVER,
        Reason.GROUP_UNKNOWN,
        "the budget counts groups, and the pod belongs to none",
    ),
    "the API server has not counted": (
        said(by_server(observed_generation=0), intact=False),
        Word.WAITS,
        Reason.NOT_PROCESSED,
        "the disruption controller is still counting its pods",
    ),
}


@pytest.mark.parametrize(("found", "word", "reason", "text"), CASES.values(), ids=list(CASES))
def test_the_verdict_has_a_word_a_reason_and_a_text(
    found: BudgetVerdict, word: Word, reason: Reason, text: str
) -> None:
    assert (found.word, found.reason, found.text) == (word, reason, text)
    assert bool(found.when) == (word is not Word.MAY_GO)


def test_without_intact_a_note_says_that_pods_are_counted() -> None:
    note = "Intact is not installed here: Kubernetes counts pods, not groups"
    assert said(group_pdb(allowed=1), intact=False).note == note


def test_both_of_two_budgets_say_so() -> None:
    found = judged(pdb("a"), pdb("b"))
    assert [one.reason for one in found] == [Reason.TWO_BUDGETS, Reason.TWO_BUDGETS]
    assert found[0].when == "only one of pdb/a and pdb/b covers it"


def test_a_budget_in_groups_waits_for_groups() -> None:
    found = said(group_pdb())
    assert found.when == "shard-0 is ready again"
    assert [one.unit.name for one in found.waits_for] == ["shard-0"]


def test_groups_that_a_server_of_the_kep_counts() -> None:
    """It knows PodGroups, of which each pod names one."""
    spec = {"nodeName": "n", "schedulingGroup": {"podGroupName": "g"}}
    gang = {"spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}

    def verdict(budget: PodDisruptionBudget, *, ready: bool = True, extra: int = 0) -> Reason:
        group = msgspec.convert({"metadata": {"name": "g", "namespace": "llm"}, **gang}, PodGroup)
        pods = [pod(f"g-{number}", ready=ready, spec=spec) for number in range(1 + extra)]
        found = picture(*pods, pdbs=[budget], intact=False, pod_groups=[group])

        def live_of(_one: BudgetPicture) -> LiveGroups:
            raise AssertionError("the API server decides")

        return judge_pdbs(found.budgets, pods[0], live_of, None, NOW)[0].reason

    assert verdict(by_server()) is Reason.EXHAUSTED
    assert verdict(by_server(disruptions_allowed_replicas=1)) is Reason.ALLOWED
    assert verdict(by_server(), extra=1) is Reason.SURPLUS
    assert verdict(by_server(), ready=False) is Reason.GROUP_UNAVAILABLE
    assert verdict(by_server(current_healthy_replicas=2), ready=False) is Reason.UNHEALTHY
    always = by_server("AlwaysAllow", current_healthy_replicas=2)
    assert verdict(always, ready=False) is Reason.GROUP_UNAVAILABLE
