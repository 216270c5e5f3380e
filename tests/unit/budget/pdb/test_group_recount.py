"""The recount of budgets that count groups: numbers, conditions, the ledger, what is forgotten."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace

from intact.budget.pdb.disrupted_pods import SETTLED, Standing, look_again
from intact.budget.pdb.group_counts import GroupCounts, Seen
from intact.budget.pdb.group_recount import Recounted, is_current, may_go, next_check, recount
from intact.budget.pdb.group_settings import read_settings, rules_of
from intact.model.amounts import MOST_REPLICAS
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pdb import PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import (
    Known,
    a_budget,
    a_pod,
    a_pod_group,
    groups_of,
)

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


NOTHING = Standing({}, (), ())


def counted(
    budget: PodDisruptionBudget,
    pods: Iterable[Pod],
    known: Known,
    *,
    before: GroupLedger | None = None,
    standing: Standing = NOTHING,
    wants: bool = True,
    counts: GroupCounts | None = None,
    now: datetime = NOW,
) -> Recounted:
    if counts is None:
        counts = GroupCounts(read_settings(budget), known)
    for pod in pods:
        counts.put(pod)
    ledger = before or GroupLedger(rules=rules_of(budget))
    return recount(budget, ledger, counts, known, standing, now, lambda _: wants)


def ready(group: str, number: int, of: int = 3) -> list[Pod]:
    return [a_pod(f"{group}-{each}", group, ready=each < number) for each in range(of)]


# Four groups of three that need three: all up, one down, one with a pod less.
FOUR = [*ready("a", 3), *ready("b", 3), *ready("c", 3), *ready("d", 2)]
KNOWN = groups_of(3, "a", "b", "c", "d")


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("spec", "need"),
    [
        ({"min_available": MOST_REPLICAS}, 3),
        ({"max_unavailable": 1, "expected_replicas": str(MOST_REPLICAS)}, 3),
        ({"max_unavailable": "1%", "expected_replicas": str(MOST_REPLICAS)}, 3),
        ({"max_unavailable": 1}, MOST_REPLICAS),
        ({"min_available": "100%"}, MOST_REPLICAS),
    ],
    ids=str,
)
def test_no_number_is_larger_than_the_api_takes(
    spec: dict[str, int | str], need: int, native: bool
) -> None:
    """A status with such a number cannot be stored, and the budget would never be counted."""
    budget, known = a_budget(**spec), groups_of(need, "a", "b", "c", "d")  # type: ignore[arg-type]
    counts = GroupCounts(read_settings(budget), known)
    for pod in FOUR:
        counts.put(pod)
    before = GroupLedger(rules=rules_of(budget))
    status = recount(
        budget, before, counts, known, NOTHING, NOW, lambda _: True, native=native
    ).status
    numbers = [each for each in msgspec.structs.astuple(status) if isinstance(each, int)]
    assert max(numbers) <= MOST_REPLICAS
    assert status.disruptions_allowed <= 2
    assert status.current_healthy < status.desired_healthy or native


@pytest.mark.parametrize(
    ("spec", "desired", "allowed", "pods"),
    [
        ({"min_available": 2}, 2, 1, 2 + 3),
        ({"min_available": 3}, 3, 0, 2),
        ({"min_available": 5}, 5, 0, 0),
        ({"min_available": 5, "policy": "AlwaysAllow"}, 5, 0, 2),
        ({"min_available": 5, "policy": "IfHealthyBudget"}, 5, 0, 0),
        ({"min_available": 0}, 0, 3, 2 + 9),
        ({"min_available": "50%"}, 2, 1, 2 + 3),
        ({"min_available": "51%"}, 3, 0, 2),
        ({"max_unavailable": 1}, 3, 0, 2),
        ({"max_unavailable": 2}, 2, 1, 2 + 3),
        ({"max_unavailable": "26%"}, 2, 1, 2 + 3),
        ({"max_unavailable": "100%"}, 0, 3, 2 + 9),
        ({"max_unavailable": 9}, 0, 3, 2 + 9),
        ({}, 0, 0, 2),
    ],
)
def test_the_forms_of_a_budget_in_groups(
    spec: dict[str, int | str], desired: int, allowed: int, pods: int
) -> None:
    policy = spec.get("policy")
    budget = a_budget(
        spec.get("min_available"),
        spec.get("max_unavailable"),
        policy=str(policy) if policy else None,
    )
    found = counted(budget, FOUR, KNOWN)
    ledger, status = found.ledger, found.status
    assert (ledger.desired, ledger.allowed, ledger.available, ledger.expected) == (
        desired,
        allowed,
        3,
        4,
    )
    assert status.disruptions_allowed == pods
    assert (status.current_healthy, status.expected_pods) == (11, 12)
    assert status.desired_healthy == desired * 3
    reasons = [(each.type, each.status, each.reason) for each in status.conditions]
    assert reasons == [
        (
            "DisruptionAllowed",
            str(bool(allowed)),
            "SufficientReplicas" if allowed else "InsufficientReplicas",
        ),
        ("BudgetConfigured", "True", "NeverAllows" if desired > 4 or not spec else "ValidConfig"),
    ]


def test_the_api_server_holds_pods_that_are_not_ready_while_too_few_groups_are_available() -> None:
    """It lets them go by itself while currentHealthy is at least desiredHealthy."""
    fragile = [*ready("a", 2), *ready("b", 2), *ready("c", 2), *ready("d", 2)]
    found = counted(a_budget(2), fragile, KNOWN).status
    # One pod more in each of two groups would do.
    assert (found.current_healthy, found.desired_healthy) == (8, 10)
    assert found.disruptions_allowed == 0
    found = counted(a_budget(2), [*ready("a", 3), *ready("b", 3), *fragile[6:]], KNOWN).status
    assert (found.current_healthy, found.desired_healthy) == (10, 6)
    assert found.disruptions_allowed == 4


def test_a_group_that_the_budget_let_go_stays_free_until_it_is_available_again() -> None:
    budget = a_budget(2)
    before = GroupLedger(let_go={"a": 0, "b": 0, "gone": 0}, rules=rules_of(budget))
    pods = [*ready("a", 2), *ready("b", 3), *ready("c", 2), *ready("d", 2)]
    found = counted(budget, pods, KNOWN, before=before)
    assert found.ledger.let_go == {"a": 1}
    # Also its pod that is not ready, for which the API server asks while too few are available.
    assert found.status.disruptions_allowed == 2 + 1
    # Under other groups the names mean nothing.
    found = counted(a_budget(2, min_ready_replicas="2"), pods, KNOWN, before=before)
    assert found.ledger.let_go == {}


def test_the_largest_groups_say_how_many_pods_may_go() -> None:
    known = Known(pod_groups={name: a_pod_group(name, need, "w") for name, need in NEEDS.items()})
    pods = [pod for name, need in NEEDS.items() for pod in ready(name, need + 1, need + 1)]
    found = counted(a_budget(max_unavailable=2), pods, known)
    assert found.ledger.surplus == {"a": 1, "b": 1, "c": 1}
    assert found.status.disruptions_allowed == 3 + 5 + 2
    # The one that must stay needs one pod at least.
    assert found.status.desired_healthy == 1


NEEDS = {"a": 1, "b": 5, "c": 2}


def by_shard(need: int, *sizes: int, expected: str = "9") -> tuple[PodDisruptionBudget, list[Pod]]:
    """A budget that lets everything go, and groups of so many pods."""
    budget = a_budget(
        max_unavailable=9, policy="AlwaysAllow",
        group_label_key="shard", min_ready_replicas=str(need), expected_replicas=expected,
    )  # fmt: skip
    pods = [
        a_pod(f"{shard}-{number}", labels={"shard": str(shard)})
        for shard, size in enumerate(sizes)
        for number in range(size)
    ]
    return budget, pods


def test_a_need_that_no_group_can_reach_closes_the_budget_and_is_told() -> None:
    budget, pods = by_shard(8, 4, 3, 4)
    found = counted(budget, pods, Known())
    assert (found.status.disruptions_allowed, found.ledger.allowed) == (0, 0)
    assert found.ledger.proven == []
    text = "groups need 8 pods, and the largest has 4: nothing of them may go until one has 8"
    assert [(each.status, each.reason, each.message) for each in found.status.conditions] == [
        ("False", "NeedNotReached", text),
        ("False", "NeedNotReached", text),
    ]


def test_a_need_stays_proven_for_the_rules_under_which_a_group_reached_it() -> None:
    budget, pods = by_shard(4, 4, 3)
    found = counted(budget, pods, Known())
    assert (found.ledger.proven, found.status.disruptions_allowed) == ([4], 4 + 3)
    assert found.status.conditions[1].reason == "ValidConfig"
    # A group that loses a pod for a moment proves no less, under another leader too.
    fewer = [*pods[1:], a_pod("0-0", labels={"shard": "0"}, going=True)]
    again = counted(budget, fewer, Known(), before=found.ledger)
    assert (again.ledger.proven, again.status.disruptions_allowed) == ([4], 3 + 3)
    # What no group needs is not carried on, whoever wrote it.
    odd = replace(found.ledger, proven=[4, 5, 6])
    assert counted(budget, fewer, Known(), before=odd).ledger.proven == [4]
    # For other rules it has to be proven again; pods that terminate prove nothing.
    other, _ = by_shard(4, expected="2")
    anew = counted(other, fewer, Known(), before=found.ledger)
    assert (anew.ledger.proven, anew.status.disruptions_allowed) == ([], 0)


def test_an_unproven_need_holds_its_own_groups_only() -> None:
    known = Known(pod_groups={"a": a_pod_group("a", 3, "w"), "b": a_pod_group("b", 8, "v")})
    found = counted(a_budget(0), [*ready("a", 2), *ready("b", 3)], known)
    assert (found.ledger.proven, found.ledger.unavailable) == ([3], {"a": 2})
    assert found.status.disruptions_allowed == 2
    assert found.status.conditions[1].reason == "NeedNotReached"


def test_a_group_that_is_not_defined_closes_the_budget() -> None:
    found = counted(a_budget(0), [*ready("a", 3), a_pod("x", "unknown")], groups_of(3, "a"))
    assert (found.status.disruptions_allowed, found.ledger.allowed) == (0, 0)
    assert found.status.conditions[0].reason == "WorkloadResolutionFailed"


def test_a_bad_value_that_slipped_in_closes_the_budget() -> None:
    found = counted(a_budget(0, min_ready_replicas="x"), ready("a", 3), groups_of(3, "a"))
    assert (found.status.disruptions_allowed, found.ledger.allowed) == (0, 0)
    assert [each.reason for each in found.status.conditions] == ["SyncFailed", "InvalidConfig"]
    assert "min-ready-replicas" in found.status.conditions[0].message


def test_an_amount_that_cannot_be_read_closes_the_budget() -> None:
    found = counted(a_budget("half"), ready("a", 3), groups_of(3, "a"))
    assert (found.status.disruptions_allowed, found.ledger.allowed) == (0, 0)
    assert [each.reason for each in found.status.conditions] == ["SyncFailed", "InvalidConfig"]


def test_pods_without_a_group_are_not_healthy() -> None:
    found = counted(a_budget(1), [a_pod("x"), *ready("a", 3)], groups_of(3, "a"))
    assert (found.status.current_healthy, found.status.expected_pods) == (3, 4)
    assert found.status.conditions[1].reason == "MissingWorkloadReference"


def test_an_entry_without_a_record_still_counts() -> None:
    """Another writer has replaced the budget's annotations."""
    pod = a_pod("x", "a")
    standing = look_again({"x": at(0)}, GroupLedger(), lambda _: pod, {}, NOW)
    result = counted(a_budget(0), [pod], groups_of(1, "a"), standing=standing)
    assert result.status.disrupted_pods == {"x": at(0)}
    assert (result.ledger.available, result.status.current_healthy) == (0, 0)


def by_label() -> tuple[PodDisruptionBudget, GroupCounts]:
    """Groups a and b, which only their pods tell of."""
    budget = a_budget(max_unavailable=1, group_label_key="shard")
    counts = GroupCounts(read_settings(budget), Known())
    for name in ("a", "b"):
        counts.put(a_pod(name, labels={"shard": name}, owner=name))
    return budget, counts


def test_an_absent_group_takes_its_share_of_the_budget() -> None:
    budget, counts = by_label()
    counts.remove("uid-a")
    found = counted(budget, [], Known(), counts=counts)
    assert (found.ledger.expected, found.ledger.allowed) == (2, 0)
    assert found.ledger.absent == {"a": at(0)}
    assert next_check(found.status, found.ledger, NOW) == NOW + timedelta(minutes=2)
    unwanted = counted(budget, [], Known(), counts=counts, wants=False)
    assert (unwanted.ledger.expected, unwanted.ledger.allowed) == (1, 1)


def test_a_ledger_of_groups_by_another_label_tells_of_no_absent_group() -> None:
    budget, counts = by_label()
    for rules, absent in ((rules_of(budget), {"c": at(0)}), (rules_of(BY_X), {})):
        before = GroupLedger(unavailable={"c": 1}, rules=rules)
        found = counted(budget, [], Known(), counts=counts, before=before)
        assert found.ledger.absent == absent


BY_X = a_budget(group_label_key="x")


def test_the_recount_names_what_the_counts_may_forget_and_changes_nothing_itself() -> None:
    budget, counts = by_label()
    counts.remove("uid-a")
    counts.evicted["old"] = Seen("uid-old", at(-121))
    counts.evicted["young"] = Seen("uid-young", at(-120))
    found = counted(budget, [], Known(), counts=counts, wants=False)
    assert (found.forgotten_groups, found.forgotten_evictions) == (("a",), ("old",))
    assert (set(counts.vanished), set(counts.evicted)) == ({"a"}, {"old", "young"})


def test_when_a_budget_is_counted_again_without_an_event() -> None:
    status = PdbStatus(disrupted_pods={"x": at(0)})
    assert next_check(status, GroupLedger(), NOW) == NOW + SETTLED
    assert next_check(status, GroupLedger(), NOW + SETTLED) == NOW + timedelta(minutes=2)
    assert next_check(PdbStatus(), GroupLedger(), NOW) is None


def test_a_store_must_be_as_new_as_what_others_have_seen() -> None:
    ledger = GroupLedger(seen="10", pods={"x": GroupRecord(version="12")})
    assert [is_current(ledger, version) for version in ("", "11", "12")] == [False, False, True]


def test_the_pods_of_the_largest_allowed_groups_may_go() -> None:
    spec = PdbSpec()
    assert may_go(spec, GroupLedger(needs={3: 2}, allowed=1)) == 3
    assert may_go(spec, GroupLedger(needs={3: 2, 5: 1}, allowed=2)) == 5 + 3


def test_a_budget_that_is_to_stop_counting_groups_stays_closed_for_a_moment() -> None:
    budget = a_budget(0)
    closed = GroupLedger(leaving=at(0), rules=rules_of(budget))
    for seconds, pods in ((0, 0), (29, 0), (30, 2 + 9), (-31, 2 + 9)):
        now = NOW + timedelta(seconds=seconds)
        found = counted(budget, FOUR, KNOWN, before=closed, now=now)
        assert (found.status.disruptions_allowed, bool(found.ledger.leaving)) == (pods, not pods)
        assert (found.ledger.allowed > 0) == (pods > 0)
        if not pods:
            assert next_check(found.status, found.ledger, now) == NOW + timedelta(seconds=30)
    bad = GroupLedger(leaving="soon", rules=rules_of(budget))
    assert counted(budget, FOUR, KNOWN, before=bad).ledger.leaving == ""
