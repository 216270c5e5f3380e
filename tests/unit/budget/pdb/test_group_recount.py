"""The recount of budgets that count groups: numbers, conditions, what is expected and recorded."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from intact.budget.pdb.group_counts import GroupCounts, Seen
from intact.budget.pdb.group_recount import (
    SETTLED,
    Recounted,
    Standing,
    is_current,
    look_again,
    may_go,
    next_check,
    read_ledger,
    recount,
)
from intact.budget.pdb.group_settings import read_settings, rules_of
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import (
    Known,
    a_budget,
    a_leader_worker_set,
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


@pytest.mark.parametrize(
    ("spec", "desired", "allowed", "pods"),
    [
        ({"min_available": 2}, 2, 1, 2 + 3),
        ({"min_available": 3}, 3, 0, 2),
        ({"min_available": 5}, 5, 0, 2),
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
    budget = a_budget(spec.get("min_available"), spec.get("max_unavailable"))
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
        ("BudgetConfigured", "True", "ValidConfig"),
    ]


def test_the_largest_groups_say_how_many_pods_may_go() -> None:
    known = Known(pod_groups={name: a_pod_group(name, need, "w") for name, need in NEEDS.items()})
    pods = [pod for name, need in NEEDS.items() for pod in ready(name, need + 1, need + 1)]
    found = counted(a_budget(max_unavailable=2), pods, known)
    assert found.ledger.surplus == {"a": 1, "b": 1, "c": 1}
    assert found.status.disruptions_allowed == 3 + 5 + 2
    # The one that must stay needs one pod at least.
    assert found.status.desired_healthy == 1


NEEDS = {"a": 1, "b": 5, "c": 2}


def test_a_group_that_is_not_defined_closes_the_budget() -> None:
    found = counted(a_budget(0), [*ready("a", 3), a_pod("x", "unknown")], groups_of(3, "a"))
    assert (found.status.disruptions_allowed, found.ledger.allowed) == (0, 0)
    assert found.status.conditions[0].reason == "WorkloadResolutionFailed"


def test_a_bad_value_that_slipped_in_closes_the_budget() -> None:
    found = counted(a_budget(0, min_ready_replicas="x"), ready("a", 3), groups_of(3, "a"))
    assert (found.status.disruptions_allowed, found.ledger.allowed) == (0, 0)
    assert [each.reason for each in found.status.conditions] == ["SyncFailed", "InvalidConfig"]
    assert "min-ready-replicas" in found.status.conditions[0].message


def test_pods_without_a_group_are_not_healthy() -> None:
    found = counted(a_budget(1), [a_pod("x"), *ready("a", 3)], groups_of(3, "a"))
    assert (found.status.current_healthy, found.status.expected_pods) == (3, 4)
    assert found.status.conditions[1].reason == "MissingWorkloadReference"


class TestExpected:
    def test_what_is_told_counts_also_without_pods(self) -> None:
        known = groups_of(3, "a", "b")
        budget = a_budget(max_unavailable=1)
        counts = GroupCounts(read_settings(budget), known)
        assert counted(budget, ready("a", 3), known, counts=counts).ledger.expected == 2
        for pod in ready("a", 3):
            counts.remove(pod.metadata.uid)
        found = counted(budget, [], known, counts=counts)
        assert (found.ledger.expected, found.ledger.allowed, found.ledger.absent) == (2, 0, {})
        known.pod_groups.clear()
        assert counted(budget, [], known, counts=counts).ledger.expected == 0
        assert counts.vanished == {}

    def test_the_annotation_counts_before_all_else(self) -> None:
        budget = a_budget(max_unavailable=1, expected_replicas="9")
        assert counted(budget, ready("a", 3), groups_of(3, "a")).ledger.expected == 9

    def test_a_leader_worker_set(self) -> None:
        labels = {
            "leaderworkerset.sigs.k8s.io/group-key": "k",
            "leaderworkerset.sigs.k8s.io/name": "llm",
        }
        pods = [a_pod("x", labels=labels, size="1")]
        known = Known(leader_worker_sets={"llm": a_leader_worker_set("llm", 5, 1)})
        assert counted(a_budget(max_unavailable=1), pods, known).ledger.expected == 5
        assert counted(a_budget(max_unavailable=1), pods, Known()).ledger.expected == 1

    def by_label(self) -> tuple[PodDisruptionBudget, GroupCounts]:
        budget = a_budget(max_unavailable=1, group_label_key="shard")
        counts = GroupCounts(read_settings(budget), Known())
        for name in ("a", "b"):
            counts.put(a_pod(name, labels={"shard": name}, owner=name))
        return budget, counts

    def test_a_group_that_only_pods_told_of_is_expected_back_for_a_while(self) -> None:
        budget, counts = self.by_label()
        counts.remove("uid-a")
        found = counted(budget, [], Known(), counts=counts)
        assert (found.ledger.expected, found.ledger.allowed) == (2, 0)
        assert found.ledger.absent == {"a": at(0)}
        assert next_check(found.status, found.ledger, NOW) == NOW + timedelta(minutes=2)
        late = NOW + timedelta(seconds=119)
        again = counted(budget, [], Known(), counts=counts, before=found.ledger, now=late)
        assert again.ledger.absent == {"a": at(0)}
        over = NOW + timedelta(seconds=120)
        last = counted(budget, [], Known(), counts=counts, before=again.ledger, now=over)
        assert (last.ledger.expected, last.ledger.absent, counts.vanished) == (1, {}, {})

    def test_but_not_if_nobody_wants_it_back(self) -> None:
        budget, counts = self.by_label()
        counts.remove("uid-a")
        found = counted(budget, [], Known(), counts=counts, wants=False)
        assert (found.ledger.expected, found.ledger.allowed) == (1, 1)

    def test_a_new_leader_knows_of_it_from_the_ledger(self) -> None:
        budget, counts = self.by_label()
        before = GroupLedger(unavailable={"c": 1}, rules=rules_of(budget))
        found = counted(budget, [], Known(), counts=counts, before=before)
        assert (found.ledger.expected, found.ledger.absent) == (3, {"c": at(0)})

    def test_groups_of_another_label_are_forgotten(self) -> None:
        budget, counts = self.by_label()
        before = GroupLedger(unavailable={"c": 1}, rules=rules_of(a_budget(group_label_key="x")))
        assert counted(budget, [], Known(), counts=counts, before=before).ledger.absent == {}


UID1 = GroupRecord(uid="one", group="a", version="5")


@pytest.mark.parametrize(
    ("pod", "evicted", "age", "kept", "recorded", "overdue"),
    [
        # The pod that was meant.
        (a_pod("x", uid="one"), None, 119, True, True, False),
        (a_pod("x", uid="one"), None, 120, False, False, True),
        (a_pod("x", uid="one", going=True), None, 1, True, True, False),
        (a_pod("x", uid="one", going=True), 0, 1, False, False, False),
        (a_pod("x", uid="one", going=True), -1, 1, True, True, False),
        (a_pod("x", uid="one", going=True), None, 10, False, False, False),
        # Gone.
        (None, None, 1, True, False, False),
        (None, None, 10, False, False, False),
        (None, 1, 1, False, False, False),
        # Another one of that name.
        (a_pod("x", uid="two", created=at(1)), None, 2, False, False, False),
        (a_pod("x", uid="two", created=at(0)), None, 2, True, True, False),
        (a_pod("x", uid="two", created=at(0)), 0, 2, False, False, False),
        (a_pod("x", uid="two", created=at(0)), None, 10, False, False, False),
    ],
)
def test_how_long_an_entry_of_disrupted_pods_stays(
    pod: Pod | None, evicted: int | None, age: int, kept: bool, recorded: bool, overdue: bool
) -> None:
    ledger = GroupLedger(pods={"x": UID1})
    seen = {} if evicted is None else {"x": Seen("one", at(evicted))}
    now = NOW + timedelta(seconds=age)
    found = look_again({"x": at(0)}, ledger, lambda _: pod, seen, now)
    assert (bool(found.kept), bool(found.recorded), bool(found.overdue)) == (
        kept,
        recorded,
        overdue,
    )


def test_what_was_seen_of_an_earlier_pod_says_nothing_of_this_one() -> None:
    pod = a_pod("x", uid="one")
    seen = {"x": Seen("zero", at(0))}
    found = look_again({"x": at(0)}, GroupLedger(pods={"x": UID1}), lambda _: pod, seen, NOW)
    assert (found.kept, found.recorded) == ({"x": at(0)}, ("one",))


def test_nothing_is_overdue_in_a_store_that_is_behind() -> None:
    pod = a_pod("x", uid="one")
    now = NOW + timedelta(minutes=5)
    ledger = GroupLedger(pods={"x": UID1})
    found = look_again({"x": at(0)}, ledger, lambda _: pod, {}, now, lambda _: False)
    assert (found.kept, found.overdue) == ({"x": at(0)}, ())


def test_an_entry_without_a_record_still_counts() -> None:
    """Somebody has replaced the budget's annotations."""
    pod = a_pod("x", "a")
    found = look_again({"x": at(0)}, GroupLedger(), lambda _: pod, {}, NOW)
    assert (found.kept, found.recorded) == ({"x": at(0)}, ("uid-x",))
    result = counted(a_budget(0), [pod], groups_of(1, "a"), standing=found)
    assert result.status.disrupted_pods == {"x": at(0)}
    assert (result.ledger.available, result.status.current_healthy) == (0, 0)


def test_when_to_look_again() -> None:
    status = PdbStatus(disrupted_pods={"x": at(0)})
    assert next_check(status, GroupLedger(), NOW) == NOW + SETTLED
    assert next_check(status, GroupLedger(), NOW + SETTLED) == NOW + timedelta(minutes=2)
    assert next_check(PdbStatus(), GroupLedger(), NOW) is None


def test_a_store_must_be_as_new_as_what_others_have_seen() -> None:
    ledger = GroupLedger(seen="10", pods={"x": GroupRecord(version="12")})
    assert [is_current(ledger, version) for version in ("", "11", "12")] == [False, False, True]


def test_a_text_that_is_no_ledger() -> None:
    assert read_ledger("") is None
    assert read_ledger('{"pods": 1}') is None
    assert read_ledger('{"needs":{"3":2},"allowed":1}') == GroupLedger(needs={3: 2}, allowed=1)
    assert may_go(GroupLedger(needs={3: 2}, allowed=1)) == 3
