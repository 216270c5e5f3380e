"""The gate of budgets that count groups: a table of decisions, and what no course may break."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pdb.disrupted_pods import look_again, recorded_uids
from intact.budget.pdb.group_counts import Counted, GroupCounts
from intact.budget.pdb.group_decision import (
    Reason,
    Subject,
    Verdict,
    as_the_server,
    decide,
    evicted_names,
    problem_of,
)
from intact.budget.pdb.group_recount import recount
from intact.budget.pdb.group_settings import read_settings, rules_of
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.meta import Condition
from intact.model.pdb import PdbStatus
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import a_budget, a_pod, groups_of

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
TIME = "2026-01-01T12:00:00Z"
SUFFICIENT = Condition(
    type="DisruptionAllowed",
    status="True",
    reason="SufficientReplicas",
    last_transition_time="2026-01-01T00:00:00Z",
)
STATUS = PdbStatus(
    observed_generation=1,
    disruptions_allowed=6,
    current_healthy=9,
    desired_healthy=6,
    expected_pods=12,
    conditions=[SUFFICIENT],
)
# Of four groups that need three, one is down with two left and one has a pod more than it needs.
LEDGER = GroupLedger(
    unavailable={"down": 2},
    surplus={"rich": 1},
    needs={3: 3},
    allowed=1,
    available=3,
    desired=2,
    expected=4,
    proven=[3],
)
LIVE = Counted(healthy=12, unavailable={"down": 2}, surplus={"rich": 1}, needs={3: 3})


def subject(group: str | None = "fine", **changes: object) -> Subject:
    found = Subject("x", "uid-x", TIME, True, group, 3, False, "9")
    return replace(found, **changes)  # type: ignore[arg-type]


def judge(
    pod: Subject,
    ledger: GroupLedger = LEDGER,
    live: Counted = LIVE,
    policy: str | None = None,
) -> Verdict:
    return decide(a_budget(2, policy=policy, status=STATUS), ledger, pod, live, NOW)


SPENT = msgspec.structs.replace(LEDGER, allowed=0, available=2, needs={3: 2})
POOR = Counted(unavailable={"down": 2, "other": 1}, needs={3: 2})
FINE_IS_RICH = Counted(surplus={"fine": 1}, needs={3: 4})
WORSE = Counted(unavailable={"down": 2, "other": 1, "third": 0}, needs={3: 1})
# Every group has lost a pod of its own; the gate let `let` go before the others broke.
FRAGILE = GroupLedger(
    unavailable={"down": 2, "other": 2, "let": 1}, surplus={"rich": 1}, needs={3: 1},
    available=1, desired=2, expected=4, let_go={"let": 1}, proven=[3],
)  # fmt: skip
BROKEN = Counted(unavailable={"down": 2, "other": 2, "let": 1}, surplus={"rich": 1}, needs={3: 1})


@pytest.mark.parametrize(
    ("pod", "ledger", "live", "policy", "allowed", "reason"),
    [
        (subject(recorded=True), SPENT, POOR, None, True, Reason.RECORDED),
        (subject(None, need=None), LEDGER, LIVE, None, False, Reason.UNRESOLVED),
        (subject("odd", need=None), LEDGER, LIVE, None, False, Reason.UNRESOLVED),
        (subject(healthy=False), LEDGER, LIVE, None, True, Reason.NOT_READY),
        (subject(healthy=False), SPENT, LIVE, None, True, Reason.NOT_READY),
        (subject(healthy=False), LEDGER, WORSE, None, False, Reason.UNHEALTHY),
        (subject(healthy=False), LEDGER, WORSE, "AlwaysAllow", True, Reason.NOT_READY),
        (subject("down"), LEDGER, LIVE, None, True, Reason.GROUP_UNAVAILABLE),
        (subject("down"), SPENT, LIVE, None, True, Reason.GROUP_UNAVAILABLE),
        (subject("rich"), LEDGER, LIVE, None, True, Reason.SURPLUS),
        (subject("rich"), SPENT, LIVE, None, True, Reason.SURPLUS),
        (subject("fine"), LEDGER, LIVE, None, True, Reason.BUDGET),
        (subject("fine"), SPENT, LIVE, None, False, Reason.EXHAUSTED),
        # What is counted live is worse than what is stored: that counts.
        (subject("fine"), LEDGER, POOR, None, False, Reason.LIVE_COUNT),
        (subject("rich"), LEDGER, POOR, None, False, Reason.LIVE_COUNT),
        (subject("down"), LEDGER, Counted(needs={3: 2}), None, False, Reason.LIVE_COUNT),
        # A surplus that only one of the two sees is none: the group is paid for.
        (subject("rich"), LEDGER, Counted(needs={3: 4}), None, True, Reason.BUDGET),
        (subject("rich"), SPENT, Counted(needs={3: 4}), None, False, Reason.EXHAUSTED),
        (subject("fine"), SPENT, FINE_IS_RICH, None, False, Reason.EXHAUSTED),
        # A need that no group has ever had the pods for proves nothing: such groups stay.
        (subject("down", need=8), LEDGER, LIVE, "AlwaysAllow", False, Reason.UNPROVEN),
        (subject("fine", need=8), LEDGER, LIVE, None, False, Reason.UNPROVEN),
        (subject("fine", need=8, healthy=False), LEDGER, LIVE, None, False, Reason.UNPROVEN),
        (subject("fine", need=8, recorded=True), LEDGER, LIVE, None, True, Reason.RECORDED),
        # Pods of an unavailable group are free only while enough groups are available.
        (subject("down"), FRAGILE, BROKEN, None, False, Reason.UNHEALTHY),
        (subject("down"), FRAGILE, BROKEN, "IfHealthyBudget", False, Reason.UNHEALTHY),
        (subject("down"), FRAGILE, BROKEN, "AlwaysAllow", True, Reason.GROUP_UNAVAILABLE),
        (subject("down"), LEDGER, WORSE, None, False, Reason.UNHEALTHY),
        (subject("down"), FRAGILE, LIVE, None, False, Reason.UNHEALTHY),
        (subject("other"), LEDGER, WORSE, None, False, Reason.UNHEALTHY),
        (subject("other"), LEDGER, WORSE, "AlwaysAllow", True, Reason.BUDGET),
        # The rest of the group that the budget let go stays free; so does surplus.
        (subject("let"), FRAGILE, BROKEN, None, True, Reason.GROUP_UNAVAILABLE),
        (subject("let", healthy=False), FRAGILE, BROKEN, None, True, Reason.NOT_READY),
        (subject("rich"), FRAGILE, BROKEN, None, True, Reason.SURPLUS),
        # A group that is down live and not in the ledger is paid for as well.
        (subject("other"), LEDGER, POOR, None, True, Reason.BUDGET),
    ],
)  # fmt: skip
def test_the_table_of_decisions(
    pod: Subject,
    ledger: GroupLedger,
    live: Counted,
    policy: str | None,
    allowed: bool,
    reason: Reason,
) -> None:
    verdict = judge(pod, ledger, live, policy)
    assert (verdict.allowed, verdict.reason) == (allowed, reason)
    assert bool(verdict.message) != allowed
    assert (verdict.ledger is not None) == allowed
    if allowed:
        assert verdict.ledger is not None
        assert verdict.status is not None
        assert verdict.status.disrupted_pods == {"x": TIME}
        assert set(verdict.ledger.pods) == {"x"}


def test_what_an_eviction_of_a_whole_group_costs() -> None:
    verdict = judge(subject("fine"))
    assert verdict.status is not None
    assert verdict.ledger == msgspec.structs.replace(
        LEDGER,
        unavailable={"down": 2, "fine": 2},
        needs={3: 2},
        allowed=0,
        available=2,
        let_go={"fine": 0},
        pods={"x": GroupRecord(uid="uid-x", group="fine", version="9")},
    )
    assert verdict.status.disruptions_allowed == 2 + 2 + 1
    assert verdict.status.current_healthy == 8
    [condition] = verdict.status.conditions
    assert (condition.status, condition.reason) == ("False", "InsufficientReplicas")
    assert condition.message == "2 of 4 groups are available; the budget requires 2"
    assert condition.last_transition_time == TIME


def test_an_eviction_of_an_unavailable_or_rich_group_costs_no_group() -> None:
    verdict = judge(subject("down"))
    assert verdict.ledger is not None
    assert verdict.status is not None
    assert (verdict.ledger.unavailable, verdict.ledger.allowed) == ({"down": 1}, 1)
    assert verdict.status.disruptions_allowed == 1 + 1 + 3
    verdict = judge(subject("rich"))
    assert verdict.ledger is not None
    assert (verdict.ledger.surplus, verdict.ledger.allowed) == ({}, 1)


def test_pods_of_a_group_that_was_let_go_stay_free_when_they_are_not_ready_any_more() -> None:
    """They fail with the pod that went. The API server takes one for each of them as well."""
    verdict = judge(subject("let", healthy=False), FRAGILE, BROKEN)
    assert verdict.ledger is not None
    assert verdict.status is not None
    assert (verdict.ledger.let_go, verdict.ledger.unavailable["let"]) == ({"let": 0}, 1)
    assert verdict.status.disruptions_allowed == 1 + 1


def test_a_denial_says_what_it_waits_for() -> None:
    assert judge(subject("fine"), SPENT).message == (
        "Pod x of group 'fine' cannot go now: 2 of 4 groups are available; the disruption budget "
        "llm requires 2. It waits for down to be ready again."
    )
    never = msgspec.structs.replace(SPENT, desired=4)
    assert judge(subject("fine"), never).message.endswith("or scale up first.")
    assert judge(subject(healthy=False), live=WORSE).message == (
        "Pod x of group 'fine' cannot go now: it is not ready, and such pods go only while enough "
        "groups are available. 1 of 4 groups are available; the disruption budget llm requires 2. "
        "It waits for down, other, third to be ready again."
    )


def test_a_denial_for_an_unproven_need_says_so() -> None:
    assert judge(subject("fine", need=8)).message == (
        "Pod x of group 'fine' cannot go now: its group needs 8 pods, and no group under the "
        "disruption budget llm has had so many. Correct the need, or wait until a group has them."
    )


def test_a_denial_names_the_broken_groups() -> None:
    assert judge(subject("down"), FRAGILE, BROKEN).message == (
        "Pod x of group 'down' cannot go now: its group is unavailable, and pods of such groups go "
        "only while enough groups are available. 1 of 4 groups are available; the disruption "
        "budget llm requires 2. It waits for down, let, other to be ready again."
    )


def test_a_denial_for_want_of_a_group_says_what_to_do() -> None:
    assert judge(subject(None, need=None)).message == (
        "Pod x belongs to no group, but the disruption budget llm counts groups: give the pod a "
        "reference to its group, or exclude it from the budget's selector."
    )
    assert judge(subject("odd", need=None)).message == (
        "Pod x of group 'odd' cannot go now: it is unknown how many pods the group needs. The "
        "disruption budget llm waits for its PodGroup, Workload or LeaderWorkerSet."
    )


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ({}, {"x": "2026-01-01T12:00:00Z"}, ["x"]),
        ({"x": "2026-01-01T11:59:59Z"}, {"x": "2026-01-01T12:00:00Z"}, ["x"]),
        ({"y": TIME}, {"y": TIME, "x": TIME}, ["x"]),
        # Evicted again in the same second: the server's write changes nothing but the number.
        ({"x": TIME, "y": "2026-01-01T11:00:00Z"}, {"x": TIME, "y": "2026-01-01T11:00:00Z"}, ["x"]),
        ({}, {}, []),
    ],
)
def test_which_pod_is_evicted(old: dict[str, str], new: dict[str, str], names: list[str]) -> None:
    found = evicted_names(PdbStatus(disrupted_pods=old), PdbStatus(disrupted_pods=new))
    assert found == names


def test_a_budget_that_was_not_counted_as_it_is_now_denies() -> None:
    budget = a_budget(2, status=STATUS)
    good = msgspec.structs.replace(LEDGER, rules=rules_of(budget))
    assert problem_of(budget, good) is None
    for bad, ledger in (
        (budget, None),
        (budget, LEDGER),
        (a_budget(2, status=STATUS, expected_replicas="3"), good),
        (a_budget(2), good),
    ):
        verdict = problem_of(bad, ledger)
        assert verdict is not None
        assert (verdict.allowed, verdict.reason) == (False, Reason.NOT_PROCESSED)
    verdict = problem_of(budget, msgspec.structs.replace(good, leaving=TIME))
    assert verdict is not None
    assert "it is to stop counting groups" in verdict.message
    broken = a_budget(2, status=STATUS, expected_replicas="x")
    verdict = problem_of(broken, good)
    assert verdict is not None
    assert verdict.reason is Reason.INVALID


class Course:
    """Gates whose stores lag, a leader who recounts, and pods that really go."""

    def __init__(self, need: int, sizes: list[int], max_unavailable: int) -> None:
        self.names = [f"g{number}" for number in range(len(sizes))]
        self.known = groups_of(need, *self.names)
        self.need = need
        self.max_unavailable = max_unavailable
        self.version = 1
        self.now = NOW
        self.pods: dict[str, Pod] = {}
        for name, size in zip(self.names, sizes, strict=True):
            for number in range(size):
                self.put(a_pod(f"{name}-{number}", name, version=str(self.version)))
        self.budget = a_budget(max_unavailable=max_unavailable)
        self.ledger = GroupLedger()
        self.stores = [dict(self.pods) for _ in range(2)]
        self.recount()

    def put(self, pod: Pod) -> None:
        self.version += 1
        meta = msgspec.structs.replace(pod.metadata, resource_version=str(self.version))
        self.pods[pod.metadata.name] = msgspec.structs.replace(pod, metadata=meta)

    def counts(self, store: dict[str, Pod]) -> GroupCounts:
        counts = GroupCounts(read_settings(self.budget), self.known)
        for pod in store.values():
            counts.put(pod)
        return counts

    def recount(self) -> None:
        counts = self.counts(self.pods)
        standing = look_again(
            self.budget.status.disrupted_pods, self.ledger, self.pods.get, {}, self.now
        )
        found = recount(
            self.budget, self.ledger, counts, self.known, standing, self.now, lambda _: True
        )
        self.ledger = found.ledger
        self.budget = msgspec.structs.replace(self.budget, status=found.status)

    def evict(self, store: int, name: str) -> None:
        """By a gate whose store may be behind, but not behind the last recount."""
        seen = self.stores[store]
        counts, pod = self.counts(seen), seen[name]
        if self.budget.status.disruptions_allowed <= 0 or counts.version < int(self.ledger.seen):
            return
        disrupted = self.budget.status.disrupted_pods
        group = counts.group_of(pod.metadata.uid)
        assert group is not None
        at = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        verdict = decide(
            self.budget,
            self.ledger,
            Subject(
                name,
                pod.metadata.uid,
                at,
                counts.is_healthy(pod.metadata.uid),
                group,
                counts.need_of(group),
                name in disrupted,
                pod.metadata.resource_version,
            ),
            counts.without(recorded_uids(disrupted, self.ledger, seen.get)),
            self.now,
        )
        if verdict.allowed:
            assert verdict.status is not None
            assert verdict.ledger is not None
            self.budget = msgspec.structs.replace(self.budget, status=verdict.status)
            self.ledger = verdict.ledger
            self.put(a_pod(name, pod.spec.scheduling_group.pod_group_name, ready=False))  # type: ignore[union-attr]

    def down(self) -> int:
        ready = dict.fromkeys(self.names, 0)
        for pod in self.pods.values():
            if pod.status.conditions[0].status == "True":
                ready[pod.spec.scheduling_group.pod_group_name] += 1  # type: ignore[union-attr]
        return sum(number < self.need for number in ready.values())


@given(
    sizes=st.lists(st.integers(2, 4), min_size=2, max_size=5),
    max_unavailable=st.integers(0, 3),
    steps=st.lists(
        st.tuples(
            st.sampled_from(["evict", "evict", "evict", "sync", "recount", "wait"]),
            st.integers(0, 1),
            st.integers(0, 100),
        ),
        max_size=40,
    ),
)
def test_evictions_never_take_more_groups_than_the_budget_lets(
    sizes: list[int], max_unavailable: int, steps: list[tuple[str, int, int]]
) -> None:
    course = Course(2, sizes, max_unavailable)
    for what, store, which in steps:
        match what:
            case "evict":
                names = sorted(course.stores[store])
                course.evict(store, names[which % len(names)])
            case "sync":
                course.stores[store] = dict(course.pods)
            case "recount":
                course.recount()
            case "wait":
                course.now += timedelta(seconds=which)
        assert course.down() <= max_unavailable


AT_ZERO = PdbStatus(observed_generation=1, current_healthy=6, desired_healthy=6)


@pytest.mark.parametrize(
    ("status", "ready", "policy", "allowed", "says"),
    [
        (STATUS, True, None, True, ""),
        (AT_ZERO, True, None, False, "has no healthy pod that may go"),
        (AT_ZERO, False, None, True, ""),
        (msgspec.structs.replace(AT_ZERO, desired_healthy=7), False, None, False, "AlwaysAllow"),
        (msgspec.structs.replace(AT_ZERO, desired_healthy=7), False, "AlwaysAllow", True, ""),
        (
            msgspec.structs.replace(AT_ZERO, disrupted_pods={"x": TIME}),
            True,
            None,
            False,
            f"allowed at {TIME}",
        ),
    ],
    ids=["above 0", "at 0", "not ready", "too few", "AlwaysAllow", "recorded"],
)
def test_at_zero_the_api_server_refuses_what_the_gate_would_allow(
    status: PdbStatus, ready: bool, policy: str | None, allowed: bool, says: str
) -> None:
    budget = a_budget(1, policy=policy, status=status)
    verdict = as_the_server(budget, a_pod("x", ready=ready), Verdict(True, Reason.RECORDED))
    assert verdict.allowed is allowed
    assert says in verdict.message
    denial = Verdict(False, Reason.LIVE_COUNT, "no")
    assert as_the_server(budget, a_pod("x"), denial) is denial
