"""The gate's decision: every row of its table, and what it never does."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pub.decision import Reason, decide
from intact.budget.pub.ledger import FIRST_WAIT, RECORD_LIFETIME, STANDS_FOR, Operation
from intact.budget.pub.node_deadline import NodeDeadline
from intact.budget.pub.settings import NODE_DEADLINES, UNHEALTHY_POLICY, read_settings, rules_of
from intact.budget.pub.subject import Subject
from intact.model.meta import ObjectMeta
from intact.model.pub import (
    ContainerMark,
    Ledger,
    LedgerRecord,
    LedgerStay,
    PodUnavailableBudget,
    PubStatus,
)
from intact.model.times import timestamp, timestamp_after
from tests.unit.budget.pub.decisions import EVERY_OPERATION, NOW, ask, budget, pod, record, stored

# The pod, the budget, whether it may go, why, whether it is recorded, and the units that it costs.
ROWS: dict[str, tuple[Subject, PodUnavailableBudget, bool, Reason, bool, int]] = {
    "terminating or finished": (
        pod(ended=True, available=False),
        budget(allowed=0),
        True,
        Reason.NOT_AVAILABLE,
        False,
        0,
    ),
    "terminating, and the budget was never counted": (
        pod(ended=True, available=False),
        budget(observed=0),
        True,
        Reason.NOT_AVAILABLE,
        False,
        0,
    ),
    "not ready": (
        pod(available=False),
        budget(allowed=0),
        True,
        Reason.NOT_AVAILABLE,
        False,
        0,
    ),
    "not ready, and the budget was never counted": (
        pod(available=False),
        budget(observed=0),
        False,
        Reason.NOT_PROCESSED,
        False,
        0,
    ),
    "already in the ledger": (
        pod(),
        budget(allowed=0, pods={"uid-0": record()}),
        True,
        Reason.RECORDED,
        False,
        0,
    ),
    "another pod of the same name is in the ledger": (
        pod(uid="uid-new"),
        budget(allowed=0, pods={"uid-0": record()}),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "of an owner that wants no pods any more": (
        pod(owners=("rs", "deployment")),
        budget(allowed=0, released=["deployment"]),
        True,
        Reason.RELEASED,
        True,
        0,
    ),
    "of another owner": (
        pod(owners=("rs", "deployment")),
        budget(allowed=0, released=["another"]),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "of an owner that wants pods again, as the last recount did not know": (
        pod(owners=("rs", "deployment"), wanted_by=("rs", "deployment")),
        budget(allowed=4, released=["deployment"]),
        False,
        Reason.NOT_PROCESSED,
        False,
        0,
    ),
    "not ready, of an owner that wants pods again": (
        pod(owners=("deployment",), wanted_by=("deployment",), available=False),
        budget(allowed=4, released=["deployment"]),
        True,
        Reason.NOT_AVAILABLE,
        False,
        0,
    ),
    "beyond the scale of its StatefulSet": (
        pod(owners=("sts",), unwanted=("sts", 4), group="g1"),
        budget(allowed=0, groups=True, scaled_in={"sts": (0, 4)}),
        True,
        Reason.RELEASED,
        True,
        0,
    ),
    "beyond the scale that the gate knows, but not the last recount": (
        pod(owners=("sts",), unwanted=("sts", 3)),
        budget(allowed=0, scaled_in={"sts": (0, 4)}),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "beyond the scale that the last recount knew, but not the gate": (
        pod(owners=("sts",)),
        budget(allowed=0, scaled_in={"sts": (0, 0)}),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "in a group that is unavailable": (
        pod(group="g1"),
        budget(allowed=0, groups=True, unavailable_groups=["g0", "g1"]),
        True,
        Reason.GROUP_UNAVAILABLE,
        True,
        0,
    ),
    "in a group with surplus": (
        pod(group="g1"),
        budget(allowed=0, groups=True, surplus={"g1": 1}),
        True,
        Reason.SURPLUS,
        True,
        0,
    ),
    "in a group beside one with surplus": (
        pod(group="g2"),
        budget(allowed=0, groups=True, surplus={"g1": 1}),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "in a group, and a unit is left": (
        pod(group="g2"),
        budget(allowed=1, groups=True),
        True,
        Reason.BUDGET,
        True,
        1,
    ),
    "in a group, while no group has as many pods as it needs": (
        pod(group="g1"),
        budget(allowed=0, groups=True, reached=False, unavailable_groups=["g1"], surplus={"g1": 1}),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "in a group, while no group has as many pods as it needs, and a unit is left": (
        pod(group="g1"),
        budget(allowed=1, groups=True, reached=False),
        True,
        Reason.BUDGET,
        True,
        1,
    ),
    "without a group, where groups count": (
        pod(),
        budget(allowed=0, groups=True, unavailable_groups=["g0"], surplus={"g1": 1}),
        False,
        Reason.EXHAUSTED,
        False,
        0,
    ),
    "any other, and a unit is left": (pod(), budget(allowed=1), True, Reason.BUDGET, True, 1),
    "any other, and none is left": (pod(), budget(allowed=0), False, Reason.EXHAUSTED, False, 0),
    "the budget was changed and not counted since": (
        pod(),
        budget(allowed=5, generation=4, observed=3),
        False,
        Reason.NOT_PROCESSED,
        False,
        0,
    ),
    "the budget was never counted": (
        pod(),
        budget(allowed=0, desired=0, generation=1, observed=0),
        False,
        Reason.NOT_PROCESSED,
        False,
        0,
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_row_of_the_table_of_costs(
    row: tuple[Subject, PodUnavailableBudget, bool, Reason, bool, int],
) -> None:
    subject, asked, allowed, reason, recorded, cost = row
    decision = ask(asked, subject)
    assert (decision.allowed, decision.reason) == (allowed, reason)
    after = stored(asked, decision).status
    assert (decision.status is not None) == recorded
    assert (subject.uid in after.ledger.pods) == (recorded or reason is Reason.RECORDED)
    assert asked.status.unavailable_allowed - after.unavailable_allowed == cost
    assert asked.status.current_available - after.current_available == cost
    assert after.unavailable_replicas - asked.status.unavailable_replicas == cost
    assert bool(decision.message) != allowed


NOT_READY = {Operation.DELETE: False, Operation.EVICT: True, Operation.UPDATE: True}


@pytest.mark.parametrize(("operation", "recorded"), NOT_READY.items())
def test_a_pod_that_is_not_ready_is_free_and_recorded_where_it_may_turn_ready_meanwhile(
    operation: Operation, recorded: bool
) -> None:
    asked = budget(allowed=0)
    decision = ask(asked, pod(available=False), operation)
    assert decision.allowed
    after = stored(asked, decision).status
    assert (after.ledger.pods.keys() == {"uid-0"}) == recorded
    assert after.unavailable_allowed == 0


def test_a_record_says_what_was_admitted() -> None:
    asked = budget(allowed=2, groups=True)
    subject = pod(3, group="g1")
    after = stored(asked, ask(asked, subject, Operation.EVICT)).status
    assert after.ledger.pods == {
        "uid-3": LedgerRecord(
            name="p3",
            operation="EVICT",
            at="2026-01-01T12:00:00Z",
            resource_version="8",
            group="g1",
        )
    }
    assert after.ledger.unavailable_groups == ["g1"]


def test_the_record_of_an_update_says_which_containers_restart() -> None:
    asked = budget()
    marks = {"main": ContainerMark(container_id="c1", wanted="img:2")}
    after = stored(asked, ask(asked, pod(containers=marks), Operation.UPDATE)).status
    assert after.ledger.pods["uid-0"].containers == marks


def test_an_unreadable_ledger_allows_nothing() -> None:
    status = msgspec.convert({"unavailableAllowed": 5, "observedGeneration": 3}, PubStatus)
    spoilt = msgspec.convert({**status.stored_form(), "ledger": "{"}, PubStatus)
    for asked, reason in ((status, Reason.BUDGET), (spoilt, Reason.NOT_PROCESSED)):
        assert ask(msgspec.structs.replace(budget(), status=asked), pod()).reason is reason


def test_a_budget_with_other_settings_than_it_was_counted_for_allows_nothing() -> None:
    total = {"pub.kruise.io/protect-total-replicas": "8"}
    changed = msgspec.structs.replace(
        budget(allowed=5), metadata=ObjectMeta(name="web", generation=3, annotations=total)
    )
    decision = ask(changed, pod())
    assert (decision.allowed, decision.reason) == (False, Reason.NOT_PROCESSED)
    assert "still counting" in decision.message
    counted = changed.status.with_ledger(Ledger(rules=rules_of(read_settings(changed))))
    assert ask(msgspec.structs.replace(changed, status=counted), pod()).allowed


def test_pods_that_are_not_wanted_any_more_are_free_and_no_stock_for_others() -> None:
    """Three of the four that the budget allows are those of an owner that wants none."""
    ending = budget(allowed=4, desired=4, total=5, released=["ending"], idle=3)
    assert ask(ending, pod(1, owners=("ending",))).reason is Reason.RELEASED
    first = ask(ending, pod(2))
    assert first.reason is Reason.BUDGET
    second = ask(stored(ending, first), pod(3))
    assert second.reason is Reason.EXHAUSTED
    assert "4 of 5 pods are available; the budget web requires 4" in second.message
    assert ask(stored(ending, first), pod(1, owners=("ending",))).allowed


def test_surplus_is_used_up_before_a_unit_is_spent_and_then_the_group_is_free() -> None:
    now = budget(allowed=1, groups=True, surplus={"g1": 2, "g2": 1})
    reasons = []
    for number in range(5):
        decision = ask(now, pod(number, group="g1"))
        reasons.append(decision.reason)
        now = stored(now, decision)
    assert reasons == [
        Reason.SURPLUS,
        Reason.SURPLUS,
        Reason.BUDGET,
        Reason.GROUP_UNAVAILABLE,
        Reason.GROUP_UNAVAILABLE,
    ]
    assert now.status.unavailable_allowed == 0
    assert now.status.ledger.surplus == {"g2": 1}
    assert now.status.ledger.unavailable_groups == ["g1"]
    assert len(now.status.ledger.pods) == 5


class TestLiveCount:
    """The gate's own count beside the stored one: the stricter counts."""

    @pytest.mark.parametrize(
        ("live", "reason"),
        [(11, Reason.BUDGET), (10, Reason.BUDGET), (9, Reason.LIVE_COUNT), (0, Reason.LIVE_COUNT)],
    )
    def test_a_live_count_that_is_stricter_than_the_status_decides(
        self, live: int, reason: Reason
    ) -> None:
        decision = decide(budget(allowed=5, desired=9), pod(), Operation.DELETE, NOW, live)
        assert decision.reason is reason
        assert decision.allowed == (reason is Reason.BUDGET)

    def test_a_live_count_that_is_laxer_than_the_status_does_not_decide(self) -> None:
        decision = decide(budget(allowed=0), pod(), Operation.DELETE, NOW, 100)
        assert decision.reason is Reason.EXHAUSTED

    def test_a_denial_shows_the_count_that_it_goes_by(self) -> None:
        decision = decide(budget(allowed=5), pod(), Operation.DELETE, NOW, 8)
        assert "8 of 10 pods are available; the budget web requires 9." in decision.message

    def test_surplus_that_is_gone_costs_a_unit(self) -> None:
        """A pod of the group has failed and was not recounted yet: this would be one too many."""
        asked = budget(allowed=1, desired=3, total=4, groups=True, surplus={"g1": 1})
        decision = decide(asked, pod(group="g1"), Operation.DELETE, NOW, 4, 3)
        assert decision.reason is Reason.BUDGET
        spent = stored(asked, decision)
        decision = decide(spent, pod(1, group="g2"), Operation.DELETE, NOW, 3, 2)
        assert decision.reason is Reason.EXHAUSTED

    def test_surplus_that_is_there_is_free(self) -> None:
        asked = budget(allowed=0, desired=3, total=4, groups=True, surplus={"g1": 1})
        decision = decide(asked, pod(group="g1"), Operation.DELETE, NOW, 3, 3)
        assert decision.reason is Reason.SURPLUS


class TestAskedAgain:
    """A pod that is in the ledger already."""

    @pytest.mark.parametrize("operation", [Operation.DELETE, Operation.EVICT])
    @pytest.mark.parametrize("age", [timedelta(), STANDS_FOR - timedelta(seconds=1)])
    def test_a_young_record_is_not_written_again(
        self, operation: Operation, age: timedelta
    ) -> None:
        asked = budget(allowed=0, pods={"uid-0": record(at=NOW - age)})
        assert ask(asked, pod(), operation).status is None

    @pytest.mark.parametrize("operation", EVERY_OPERATION)
    @pytest.mark.parametrize("age", [STANDS_FOR, RECORD_LIFETIME * 3])
    def test_nothing_more_is_admitted_on_an_older_record_so_that_it_can_end(
        self, operation: Operation, age: timedelta
    ) -> None:
        """Also on one that has outlived its time: the recount clears it soon."""
        asked = budget(allowed=0, pods={"uid-0": record(at=NOW - age)})
        decision = ask(asked, pod(), operation)
        assert (decision.allowed, decision.reason) == (False, Reason.STAYED)
        assert decision.status is None
        assert "has let pod p0 go already, but the pod is still here" in decision.message

    def test_a_deletion_is_another_attempt_than_an_eviction(self) -> None:
        asked = budget(allowed=0, pods={"uid-0": record(operation="EVICT", at=NOW - STANDS_FOR)})
        assert not ask(asked, pod(), Operation.EVICT).allowed
        decision = ask(asked, pod(), Operation.DELETE)
        after = stored(asked, decision).status.ledger.pods["uid-0"]
        assert (after.operation, after.at) == ("DELETE", timestamp_after(NOW))

    @pytest.mark.parametrize("operation", EVERY_OPERATION)
    def test_a_record_of_an_update_may_be_over_and_so_is_always_written(
        self, operation: Operation
    ) -> None:
        """An old copy of the budget must not let a pod go that is long back and counted again."""
        asked = budget(allowed=0, pods={"uid-0": record(operation="UPDATE")})
        decision = ask(asked, pod(), operation)
        assert decision.reason is Reason.RECORDED
        assert decision.status is not None


class TestStayed:
    """A pod that was let go before, and is still here."""

    def asked(self, since: timedelta, times: int = 1, **more: Any) -> PodUnavailableBudget:
        stay = LedgerStay(operation="EVICT", at=timestamp(NOW - since), times=times)
        found = budget(**more)
        ledger = msgspec.structs.replace(found.status.ledger, stayed={"uid-0": stay})
        return msgspec.structs.replace(found, status=found.status.with_ledger(ledger))

    def test_other_pods_go_first(self) -> None:
        asked = self.asked(timedelta(seconds=1), allowed=1)
        decision = ask(asked, pod(), Operation.EVICT)
        assert (decision.allowed, decision.reason) == (False, Reason.STAYED)
        assert f"Other pods go first until {timestamp(NOW + timedelta(seconds=29))}" in (
            decision.message
        )
        assert ask(asked, pod(1), Operation.EVICT).allowed

    def test_what_was_not_refused_before_does_not_wait(self) -> None:
        asked = self.asked(timedelta(seconds=1), allowed=1)
        assert ask(asked, pod(), Operation.DELETE).allowed

    def test_after_its_wait_it_may_try_again(self) -> None:
        assert ask(self.asked(FIRST_WAIT, allowed=1), pod(), Operation.EVICT).allowed
        twice = self.asked(FIRST_WAIT, times=2, allowed=1)
        assert not ask(twice, pod(), Operation.EVICT).allowed

    def test_a_pod_that_costs_nothing_does_not_wait(self) -> None:
        broken = self.asked(timedelta(), allowed=0, groups=True, unavailable_groups=["g1"])
        assert ask(broken, pod(group="g1"), Operation.EVICT).allowed


SUBJECTS = st.builds(
    lambda number, group, available, ended: pod(
        number, group=group, available=available and not ended, ended=ended
    ),
    st.integers(0, 12),
    st.sampled_from([None, "g0", "g1", "g2"]),
    st.sampled_from([True, True, True, False]),
    st.sampled_from([False, False, False, True]),
)
REQUESTS = st.lists(st.tuples(SUBJECTS, st.sampled_from(EVERY_OPERATION)), max_size=30)
BUDGETS = st.builds(
    lambda allowed, surplus, down: budget(
        allowed=allowed,
        groups=True,
        surplus={group: count for group, count in surplus.items() if group not in down},
        unavailable_groups=down,
    ),
    st.integers(0, 5),
    st.dictionaries(st.sampled_from(["g0", "g1", "g2"]), st.integers(1, 3)),
    st.lists(st.sampled_from(["g0", "g1", "g2"]), unique=True),
)


@given(start=BUDGETS, requests=REQUESTS)
def test_whatever_is_asked_no_more_units_go_than_are_allowed(
    start: PodUnavailableBudget, requests: list[tuple[Subject, Operation]]
) -> None:
    """Each pod keeps its group here: the first mention of a pod decides it."""
    groups: dict[str, str | None] = {}
    now, taken, down = start, 0, set(start.status.ledger.unavailable_groups)
    left = dict(start.status.ledger.surplus)
    for subject, operation in requests:
        asked = replace(subject, group=groups.setdefault(subject.uid, subject.group))
        known = asked.uid in now.status.ledger.pods
        decision = ask(now, asked, operation)
        now = stored(now, decision)
        if not decision.allowed or known or not asked.available:
            continue
        if asked.group is None:
            taken += 1
        elif asked.group not in down:
            left[asked.group] = left.get(asked.group, 0) - 1
            if left[asked.group] < 0:
                down.add(asked.group)
                taken += 1
    assert taken <= start.status.unavailable_allowed
    assert now.status.unavailable_allowed == start.status.unavailable_allowed - taken
    assert set(now.status.ledger.unavailable_groups) == down


@given(start=BUDGETS, requests=REQUESTS)
def test_a_pod_that_was_let_go_is_let_go_again_at_no_cost(
    start: PodUnavailableBudget, requests: list[tuple[Subject, Operation]]
) -> None:
    now = start
    for subject, operation in requests:
        first = ask(now, subject, operation)
        now = stored(now, first)
        again = ask(now, subject, operation)
        if first.allowed:
            assert again.allowed
            assert stored(now, again).status.unavailable_allowed == now.status.unavailable_allowed
        else:
            assert again == first


@given(start=BUDGETS, requests=REQUESTS)
def test_an_available_pod_goes_only_into_the_ledger(
    start: PodUnavailableBudget, requests: list[tuple[Subject, Operation]]
) -> None:
    now = start
    for subject, operation in requests:
        decision = ask(now, subject, operation)
        now = stored(now, decision)
        if decision.allowed and subject.available:
            assert subject.uid in now.status.ledger.pods


class TestUnhealthyPolicy:
    """IfHealthyBudget: what is broken may go only while the budget is met."""

    def asked(self, available: int, policy: str = "IfHealthyBudget", **ledger: Any) -> Any:
        """A budget in groups that requires 9 of 10; group g0 is down."""
        annotations = {UNHEALTHY_POLICY: policy}
        made = budget(
            allowed=available - 9, groups=True, **({"unavailable_groups": ["g0"]} | ledger)
        )
        metadata = ObjectMeta(name="web", generation=3, annotations=annotations)
        made = msgspec.structs.replace(made, metadata=metadata)
        ledger_ = msgspec.structs.replace(made.status.ledger, rules=rules_of(read_settings(made)))
        return msgspec.structs.replace(made, status=made.status.with_ledger(ledger_))

    READY, BROKEN = pod(group="g0"), pod(group="g0", available=False)

    @pytest.mark.parametrize("subject", [READY, BROKEN, pod(available=False)], ids=str)
    @pytest.mark.parametrize("operation", [Operation.DELETE, Operation.EVICT])
    def test_what_is_broken_may_go_while_the_budget_is_met(
        self, subject: Subject, operation: Operation
    ) -> None:
        assert ask(self.asked(9), subject, operation).allowed
        denial = ask(self.asked(8), subject, operation)
        assert (denial.allowed, denial.reason) == (False, Reason.UNHEALTHY)
        assert denial.status is None
        assert "8 of 10 groups are available; the budget web requires 9." in denial.message
        assert "intact.dev/unhealthy-policy: IfHealthyBudget" in denial.message
        assert ask(self.asked(8, "AlwaysAllow"), subject, operation).allowed

    def test_the_live_count_decides_if_it_is_stricter(self) -> None:
        assert not decide(self.asked(9), self.READY, Operation.DELETE, NOW, 8, 8).allowed
        assert not decide(self.asked(8), self.READY, Operation.DELETE, NOW, 9, 9).allowed
        assert decide(self.asked(9), self.READY, Operation.DELETE, NOW, 9, 9).allowed

    def test_units_that_are_not_wanted_any_more_do_not_meet_the_budget(self) -> None:
        assert not ask(self.asked(9, idle=1), self.READY).allowed
        assert ask(self.asked(10, idle=1), self.READY).allowed

    def test_a_pod_that_is_not_ready_may_be_mended_in_place(self) -> None:
        assert ask(self.asked(8), self.BROKEN, Operation.UPDATE).allowed
        assert not ask(self.asked(8), self.READY, Operation.UPDATE).allowed

    def test_a_group_that_the_budget_let_go_may_go_wholly(self) -> None:
        now = self.asked(10, unavailable_groups=[])
        decision = ask(now, pod(1, group="g0"))
        assert decision.reason is Reason.BUDGET
        now = stored(now, decision)
        assert now.status.ledger.let_go == ["g0"]
        # Another group fails.
        worse = msgspec.structs.replace(now.status, current_available=7)
        now = msgspec.structs.replace(now, status=worse)
        assert ask(now, pod(2, group="g0")).reason is Reason.GROUP_UNAVAILABLE
        assert ask(now, pod(3, group="g0", available=False)).allowed
        assert not ask(now, pod(4, group="g1", available=False)).allowed

    def test_what_has_ended_or_is_released_or_recorded_may_go(self) -> None:
        ended = pod(ended=True, available=False)
        assert ask(self.asked(8), ended).allowed
        released = self.asked(8, released=["sts"])
        assert ask(released, pod(available=False, owners=("sts",))).allowed
        recorded = self.asked(8, pods={"uid-0": record()})
        assert ask(recorded, pod(available=False)).allowed


class TestGroupsThatOnlyRecordsMakeUnavailable:
    """The recorded pods are still here: something else may refuse what the gate let go."""

    SINCE = NOW - timedelta(seconds=6)

    def asked(self, available: int = 9, **ledger: Any) -> PodUnavailableBudget:
        """A budget that requires 9 of 10 groups; a record of p1 makes g0 unavailable."""
        known = {
            "unavailable_groups": ["g0"],
            "pods": {"uid-1": record("p1", at=self.SINCE, group="g0")},
            "held": {"g0": timestamp_after(self.SINCE)},
        }
        return budget(allowed=max(0, available - 9), groups=True, **(known | ledger))

    def test_a_pod_that_is_free_by_other_records_does_not_outlive_them(self) -> None:
        start = budget(allowed=1, groups=True)
        now = stored(start, decide(start, pod(1, group="g0"), Operation.DELETE, self.SINCE))
        assert now.status.ledger.held == {"g0": timestamp_after(self.SINCE)}
        decision = ask(now, pod(2, group="g0"), Operation.EVICT)
        assert (decision.allowed, decision.reason) == (True, Reason.GROUP_UNAVAILABLE)
        records = stored(now, decision).status.ledger.pods
        assert records["uid-2"].at == records["uid-1"].at == timestamp_after(self.SINCE)

    def test_the_others_wait_once_these_records_do_not_stand_any_more(self) -> None:
        now = self.asked(let_go=["g0"])
        later = self.SINCE + STANDS_FOR
        denial = decide(now, pod(2, group="g0"), Operation.EVICT, later)
        assert (denial.allowed, denial.reason, denial.status) == (False, Reason.STAYED, None)
        assert "has let pod p1 of the group go already, but nothing has gone" in denial.message
        assert timestamp_after(self.SINCE + RECORD_LIFETIME) in denial.message

    def test_a_group_that_was_never_paid_for_must_be_one_that_the_budget_can_spare(self) -> None:
        subject = pod(2, group="g0")
        decision = ask(self.asked(9), subject)
        assert decision.allowed
        assert stored(self.asked(9), decision).status.ledger.let_go == ["g0"]
        short = budget(allowed=-1, groups=True)
        short = msgspec.structs.replace(
            short, status=short.status.with_ledger(self.asked().status.ledger)
        )
        denial = ask(short, subject)
        assert (denial.allowed, denial.reason) == (False, Reason.EXHAUSTED)
        assert "8 of 10 groups are available; the budget web requires 9." in denial.message
        assert not decide(self.asked(9), subject, Operation.DELETE, NOW, 8, 8).allowed
        assert not ask(self.asked(9, idle=1), subject).allowed

    def test_so_must_the_recorded_pod_itself_that_came_back(self) -> None:
        """It was not ready when it was recorded, and cost nothing."""
        subject = pod(1, group="g0")
        assert ask(self.asked(9), subject, Operation.EVICT).allowed
        denial = decide(self.asked(9), subject, Operation.EVICT, NOW, 8, 8)
        assert (denial.allowed, denial.reason) == (False, Reason.EXHAUSTED)
        still_down = pod(1, group="g0", available=False)
        assert decide(self.asked(9), still_down, Operation.EVICT, NOW, 8, 8).allowed
        paid = self.asked(9, let_go=["g0"])
        assert decide(paid, subject, Operation.EVICT, NOW, 8, 8).allowed

    def test_a_group_that_was_paid_for_goes_whatever_has_failed_since(self) -> None:
        """A drain must end."""
        paid = self.asked(9, let_go=["g0"])
        worse = msgspec.structs.replace(paid.status, current_available=5, unavailable_allowed=0)
        paid = msgspec.structs.replace(paid, status=worse)
        assert ask(paid, pod(2, group="g0")).reason is Reason.GROUP_UNAVAILABLE

    def test_a_pod_that_has_had_its_turn_waits(self) -> None:
        stayed = {"uid-2": LedgerStay(operation="EVICT", at=timestamp(NOW))}
        now = self.asked(let_go=["g0"], stayed=stayed)
        assert ask(now, pod(2, group="g0"), Operation.EVICT).reason is Reason.STAYED
        truly_down = self.asked(held={}, stayed=stayed)
        assert ask(truly_down, pod(2, group="g0"), Operation.EVICT).allowed

    @pytest.mark.parametrize("at", ["", "soon", "2099-01-01T00:00:00Z"])
    def test_a_time_that_cannot_be_is_repaired_first(self, at: str) -> None:
        denial = ask(self.asked(let_go=["g0"], held={"g0": at}), pod(2, group="g0"))
        assert (denial.allowed, denial.reason) == (False, Reason.NOT_PROCESSED)


class TestNodeDeadline:
    """A pod whose node must be empty by now goes over the budget, and is recorded."""

    come = NodeDeadline("n", NOW)

    @pytest.mark.parametrize("operation", [Operation.DELETE, Operation.EVICT])
    @pytest.mark.parametrize(
        ("asked", "subject"),
        [
            (budget(allowed=0), pod()),
            (budget(allowed=0, groups=True), pod(group="a")),
            (budget(allowed=0, stayed={"uid-0": LedgerStay(operation="DELETE", at="")}), pod()),
        ],
        ids=["pods", "groups", "stayed"],
    )
    def test_what_is_denied_goes(
        self, asked: PodUnavailableBudget, subject: Subject, operation: Operation
    ) -> None:
        assert not ask(asked, subject, operation).allowed
        found = ask(asked, replace(subject, deadline=self.come), operation)
        assert found.allowed
        assert found.reason is Reason.NODE_DEADLINE
        after = stored(asked, found).status
        assert "uid-0" in after.ledger.pods
        assert after.unavailable_allowed == 0
        assert after.current_available == asked.status.current_available - 1
        assert after.ledger.unavailable_groups == ([subject.group] if subject.group else [])

    def test_what_the_budget_allows_is_its_own_decision(self) -> None:
        assert ask(budget(), pod(deadline=self.come)).reason is Reason.BUDGET

    def test_a_pod_of_a_group_that_is_down_takes_no_other_unit(self) -> None:
        held = {"a": timestamp(NOW - timedelta(seconds=20))}
        asked = budget(allowed=0, groups=True, unavailable_groups=["a"], held=held)
        found = ask(asked, pod(group="a", deadline=self.come))
        assert found.reason is Reason.NODE_DEADLINE
        assert found.status is not None
        assert found.status.current_available == asked.status.current_available

    @pytest.mark.parametrize(
        "asked",
        [budget(allowed=0, observed=2), budget(allowed=0, rules="total=5")],
        ids=["an older spec", "other settings"],
    )
    def test_a_budget_that_is_not_counted_denies(self, asked: PodUnavailableBudget) -> None:
        assert ask(asked, pod(deadline=self.come)).reason is Reason.NOT_PROCESSED

    def test_it_has_not_come(self) -> None:
        found = ask(budget(allowed=0), pod(deadline=NodeDeadline("n", NOW + timedelta(seconds=1))))
        assert found.reason is Reason.EXHAUSTED
        assert found.message.endswith(
            "Its node n must be empty by 2026-01-01T12:00:01Z: then it may go in any case."
        )

    def test_the_budget_ignores_it(self) -> None:
        asked = budget(allowed=0)
        meta = msgspec.structs.replace(asked.metadata, annotations={NODE_DEADLINES: "Ignore"})
        ignoring = msgspec.structs.replace(asked, metadata=meta)
        found = ask(ignoring, pod(deadline=self.come))
        assert found.reason is Reason.EXHAUSTED
        assert found.message.endswith("which this budget ignores.")
