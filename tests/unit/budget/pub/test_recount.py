"""The recount: what it clears from the ledger, and what it makes of the counts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pub.counts import Counts, Member
from intact.budget.pub.ledger import RECORD_LIFETIME
from intact.budget.pub.recount import (
    Expectation,
    is_current,
    next_expiry,
    overdue,
    recount,
    unseen,
    untouched,
)
from intact.model.meta import ObjectMeta
from intact.model.pod import (
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodMeta,
    PodSpec,
    PodStatus,
)
from intact.model.pub import (
    ContainerMark,
    KeptPods,
    Ledger,
    LedgerRecord,
    PodGroupPolicy,
    PodUnavailableBudget,
    PubSpec,
    PubStatus,
)
from intact.model.times import timestamp_after

ADMITTED = datetime(2026, 1, 1, 12, tzinfo=UTC)
SOON, LATE = ADMITTED + timedelta(seconds=5), ADMITTED + RECORD_LIFETIME


def pod(
    *,
    image: str = "web:1",
    container: str = "c1",
    ready: bool = True,
    phase: str = "Running",
    **meta: Any,
) -> Pod:
    return Pod(
        metadata=PodMeta(
            **({"name": "p", "namespace": "ns", "uid": "uid", "resource_version": "60"} | meta)
        ),
        spec=PodSpec(containers=[Container(name="main", image=image)]),
        status=PodStatus(
            phase=phase,
            conditions=[PodCondition(type="Ready", status="True" if ready else "False")],
            container_statuses=[
                ContainerStatus(
                    name="main",
                    image="web:1" if container == "c1" else image,
                    image_id=f"of {container}",
                    container_id=container,
                    ready=ready,
                )
            ],
        ),
    )


def record(
    operation: str = "DELETE",
    version: str = "50",
    at: str = timestamp_after(ADMITTED),
    **more: Any,
) -> LedgerRecord:
    return LedgerRecord(name="p", operation=operation, at=at, resource_version=version, **more)


DELETED = record()
UPDATED = record(
    "UPDATE",
    containers={
        "main": ContainerMark(container_id="c1", image_id="of c1", image="web:1", wanted="web:2")
    },
)
MARKED = record("UPDATE")
BOTH = record("DELETE", containers=UPDATED.containers)
TERMINATING: dict[str, Any] = {"deletion_timestamp": timestamp_after(SOON)}
GONE = None
AS_READ = {"uid": "60"}
"""The API server has the pods of these cases in the version that the store has."""

# The record, the pod in the store, whether the record is kept soon after and once it is late.
RECORDS: dict[str, tuple[LedgerRecord, Pod | None, bool, bool]] = {
    "deleted: not seen yet": (DELETED, pod(), True, False),
    "deleted: not seen yet, and not ready": (DELETED, pod(ready=False), True, False),
    "deleted: gone": (DELETED, GONE, False, False),
    "deleted: terminating": (DELETED, pod(**TERMINATING), False, False),
    "deleted: finished": (DELETED, pod(phase="Failed"), False, False),
    "deleted: another pod under the old name": (DELETED, pod(uid="another"), False, False),
    "evicted: not seen yet": (record("EVICT"), pod(), True, False),
    "updated: it did not take place": (UPDATED, pod(), True, False),
    "updated: the old container still runs": (UPDATED, pod(image="web:2"), True, True),
    "updated: not ready again": (
        UPDATED,
        pod(image="web:2", container="c2", ready=False),
        True,
        True,
    ),
    "updated: over": (UPDATED, pod(image="web:2", container="c2"), False, False),
    "updated: gone": (UPDATED, GONE, False, False),
    "updated: terminating": (UPDATED, pod(image="web:2", **TERMINATING), False, False),
    "updated: another pod under the old name": (
        UPDATED,
        pod(uid="another", image="web:2"),
        False,
        False,
    ),
    "marked: not seen yet": (MARKED, pod(), True, False),
    "marked: seen": (MARKED, pod(labels={"unavailable-pod.kruise.io/x": ""}), False, False),
    "updated and deleted: neither seen yet": (BOTH, pod(), True, False),
    "updated and deleted: the update is over, the deletion may still come": (
        BOTH,
        pod(image="web:2", container="c2"),
        True,
        False,
    ),
    "updated and deleted: the update is under way": (BOTH, pod(image="web:2"), True, True),
    "updated and deleted: gone": (BOTH, GONE, False, False),
}


@pytest.mark.parametrize("case", RECORDS.values(), ids=RECORDS)
def test_a_record_is_cleared_once_its_disruption_was_seen(
    case: tuple[LedgerRecord, Pod | None, bool, bool],
) -> None:
    one, found, soon, late = case
    for now, keeps in ((SOON, soon), (LATE, late)):
        kept, _stayed = unseen({"uid": one}, lambda _name: found, "100", now, AS_READ)
        assert kept == ({"uid": one} if keeps else {})


# The record, the pod in the store, whether the pod is overdue once the record is late.
OVERDUE: dict[str, tuple[LedgerRecord, Pod | None, bool]] = {
    "deleted, and there still": (DELETED, pod(), True),
    "evicted, and there still": (record("EVICT"), pod(), True),
    "updated in vain": (UPDATED, pod(), True),
    "updated, and still under way": (UPDATED, pod(image="web:2"), False),
    "updated, and over": (UPDATED, pod(image="web:2", container="c2"), False),
    "terminating": (DELETED, pod(**TERMINATING), False),
    "another pod under the old name": (DELETED, pod(uid="another"), False),
    "gone": (DELETED, GONE, False),
}


@pytest.mark.parametrize("case", OVERDUE.values(), ids=OVERDUE)
def test_pods_that_have_not_gone_in_time_are_overdue(
    case: tuple[LedgerRecord, Pod | None, bool],
) -> None:
    one, found, late = case
    assert overdue({"uid": one}, lambda _name: found, SOON) == []
    assert overdue({"uid": one}, lambda _name: found, LATE) == ([found] if late else [])


@pytest.mark.parametrize("versions", [{}, {"uid": "61"}], ids=["gone", "changed"])
@pytest.mark.parametrize("one", [DELETED, UPDATED], ids=["deleted", "updated"])
def test_a_late_record_stays_if_the_api_server_has_another_version_of_its_pod(
    one: LedgerRecord, versions: dict[str, str]
) -> None:
    kept, stayed = unseen({"uid": one}, lambda _name: pod(), "100", LATE, versions)
    assert (kept, stayed) == ({"uid": one}, {})


STAYED = {
    "deleted, and there still": (DELETED, pod(), True),
    "evicted, and there still": (record("EVICT"), pod(), True),
    "to be updated, and untouched": (record("UPDATE", "60"), pod(), True),
    "updated in vain": (UPDATED, pod(), False),
    "gone": (DELETED, GONE, False),
}


@pytest.mark.parametrize(("one", "found", "stayed"), STAYED.values(), ids=STAYED)
def test_a_pod_that_was_to_go_and_did_not_is_named(
    one: LedgerRecord, found: Pod | None, stayed: bool
) -> None:
    found_out = unseen({"uid": one}, lambda _name: found, "100", LATE, AS_READ)[1]
    assert found_out == ({"uid": one} if stayed else {})


@pytest.mark.parametrize("seen", ["49", ""])
@pytest.mark.parametrize("found", [None, pod(uid="the one before")])
def test_a_store_that_is_too_old_to_have_seen_the_pod_clears_nothing(
    seen: str, found: Pod | None
) -> None:
    for one in (DELETED, UPDATED):
        assert unseen({"uid": one}, lambda _name: found, seen, LATE, AS_READ)[0] == {"uid": one}
        assert unseen({"uid": one}, lambda _name: found, "50", SOON, AS_READ)[0] == {}


CURRENT = {
    "the first recount": ("", "100", True),
    "newer": ("99", "100", True),
    "the same": ("100", "100", True),
    "older": ("101", "100", False),
    "as numbers, not as words": ("99", "1000", True),
    "everything is being listed anew": ("99", "", False),
    "everything is being listed anew, for the first recount": ("", "", False),
}


@pytest.mark.parametrize(("before", "seen", "expected"), CURRENT.values(), ids=CURRENT)
def test_a_recount_looks_at_nothing_older_than_the_one_before(
    before: str, seen: str, expected: bool
) -> None:
    assert is_current(budget(ledger=Ledger(seen=before)), seen) == expected


def test_the_next_expiry_is_that_of_the_oldest_record_still_alive() -> None:
    early, later = record(), record()
    late = LedgerRecord(name="q", operation="EVICT", at=timestamp_after(SOON), resource_version="1")
    assert next_expiry([late, early, later], SOON) == ADMITTED + RECORD_LIFETIME
    assert next_expiry([early, late], LATE) == SOON + RECORD_LIFETIME
    assert next_expiry([early], LATE) is None
    assert next_expiry([], SOON) is None


def budget(
    *,
    max_unavailable: int | str | None = 1,
    min_available: int | str | None = None,
    groups: bool = False,
    ledger: Ledger = Ledger(),  # noqa: B008 - it is frozen
    **status: Any,
) -> PodUnavailableBudget:
    return PodUnavailableBudget(
        metadata=ObjectMeta(name="b", namespace="ns", generation=4),
        spec=PubSpec(
            max_unavailable=max_unavailable,
            min_available=min_available,
            pod_group_policy=PodGroupPolicy(group_label_key="g") if groups else None,
        ),
        status=PubStatus(**status).with_ledger(ledger),
    )


def pods_ready(ready: int, unready: int = 0) -> Counts:
    counts = Counts(None)
    for number in range(ready + unready):
        counts.put(f"uid-{number}", Member(owner="rs", available=number < ready))
    return counts


def groups_ready(need: int, **groups: int) -> Counts:
    """Groups by name, with the number of their ready pods, of four each."""
    counts = Counts(need)
    for name, ready in groups.items():
        for number in range(4):
            member = Member(owner=f"sts-{name}", available=number < ready, group=name)
            counts.put(f"{name}-{number}", member)
    return counts


Numbers = tuple[int, int, int, int, int]


def numbers(status: PubStatus) -> Numbers:
    return (
        status.unavailable_allowed,
        status.current_available,
        status.desired_available,
        status.total_replicas,
        status.unavailable_replicas,
    )


# Allowed, current, desired, total, unavailable.
COUNTED: dict[str, tuple[PodUnavailableBudget, Counts, Expectation, Numbers]] = {
    "all are there": (budget(), pods_ready(10), Expectation(10), (1, 10, 9, 10, 0)),
    "one is not ready": (budget(), pods_ready(9, 1), Expectation(10), (0, 9, 9, 10, 1)),
    "one is missing": (budget(), pods_ready(9), Expectation(10), (0, 9, 9, 10, 1)),
    "more are missing than may be": (budget(), pods_ready(5), Expectation(10), (0, 5, 9, 10, 5)),
    "more are there than wanted": (budget(), pods_ready(12), Expectation(10), (3, 12, 9, 10, 0)),
    "10% of 15": (
        budget(max_unavailable="10%"),
        pods_ready(15),
        Expectation(15),
        (2, 15, 13, 15, 0),
    ),
    "an integer that is more than there is": (
        budget(max_unavailable=None, min_available=5),
        pods_ready(3),
        Expectation(3),
        (0, 3, 5, 3, 0),
    ),
    "what owners want": (budget(), pods_ready(10), Expectation(pods=10), (1, 10, 9, 10, 0)),
    "no owner says how many: the pods that are there": (
        budget(),
        pods_ready(4, 1),
        Expectation(silent=("rs",)),
        (0, 4, 4, 5, 1),
    ),
    "no owner says how many: the pods that were there": (
        budget(ledger=Ledger(kept={"rs": KeptPods(pods=6)})),
        pods_ready(4, 1),
        Expectation(silent=("rs",)),
        (0, 4, 5, 6, 2),
    ),
    "an owner says how many, and another does not": (
        budget(),
        pods_ready(4, 1),
        Expectation(pods=3, silent=("rs",)),
        (0, 4, 7, 8, 4),
    ),
    "nothing is left to protect": (
        budget(max_unavailable=None, min_available=5),
        pods_ready(0, 3),
        Expectation(0, released=("rs",)),
        (0, 0, 0, 0, 0),
    ),
    "the total is not known": (
        budget(),
        pods_ready(10),
        Expectation(3, problem="no scale"),
        (0, 10, 2, 3, 0),
    ),
    "both are set, and pods count: maxUnavailable wins": (
        budget(max_unavailable=5, min_available=9),
        pods_ready(10),
        Expectation(10),
        (5, 10, 5, 10, 0),
    ),
    "both are set, and groups count: both hold": (
        budget(max_unavailable=2, min_available=3, groups=True),
        groups_ready(4, a=4, b=4, c=4, d=4),
        Expectation(4),
        (1, 4, 3, 4, 0),
    ),
    "groups as they are seen": (
        budget(groups=True),
        groups_ready(3, a=4, b=3, c=2, d=4),
        Expectation(None),
        (0, 3, 3, 4, 1),
    ),
    "a group that its owner wants and that is not there": (
        budget(groups=True),
        groups_ready(4, a=4, b=4, c=4),
        Expectation(4),
        (0, 3, 3, 4, 1),
    ),
}


@pytest.mark.parametrize("case", COUNTED.values(), ids=COUNTED)
def test_the_counters_of_the_next_status(
    case: tuple[PodUnavailableBudget, Counts, Expectation, Numbers],
) -> None:
    asked, counts, expectation, expected = case
    status = recount(asked, counts, expectation, {}, "100", ADMITTED).status
    assert numbers(status) == expected
    assert status.observed_generation == 4
    assert status.ledger.seen == "100"
    assert status.ledger.released == list(expectation.released)


def test_the_ledger_says_what_the_gate_needs() -> None:
    counts = groups_ready(3, a=4, b=3, c=2)
    one = record(group="a")
    counts.set_ledger(["a-0"])
    status = recount(
        budget(groups=True), counts, Expectation(), {"a-0": one}, "100", ADMITTED
    ).status
    assert status.ledger == Ledger(
        pods={"a-0": one}, unavailable_groups=["c"], seen="100", reached=True
    )
    assert status.disrupted_pods == {"p": one.at}
    counts.set_ledger([])
    status = recount(budget(groups=True), counts, Expectation(), {}, "100", ADMITTED).status
    assert status.ledger.surplus == {"a": 1}


def known(reached: bool, **more: Any) -> PodUnavailableBudget:
    """A budget in groups that was counted before."""
    return budget(groups=True, ledger=Ledger(reached=reached), observed_generation=4, **more)


class TestUnreachableNeed:
    """A need that no group can reach: every pod is a unit."""

    small = groups_ready(8, a=4, b=4, c=3)

    @pytest.mark.parametrize(
        ("asked", "expectation", "numbers_"),
        [
            (budget(groups=True), Expectation(pods=12), (0, 11, 11, 12, 1)),
            # The total is in groups: it must not make pods look like more than enough.
            (budget(groups=True), Expectation(3, pods=12), (0, 11, 11, 12, 1)),
            (budget(groups=True), Expectation(15, pods=12), (0, 11, 14, 15, 4)),
            (budget(groups=True, max_unavailable="25%"), Expectation(pods=12), (2, 11, 9, 12, 1)),
            # One group of eight pods must stay; that is not one pod.
            (
                budget(groups=True, max_unavailable=None, min_available=1),
                Expectation(pods=12),
                (3, 11, 8, 12, 1),
            ),
            (
                budget(groups=True, max_unavailable=None, min_available="50%"),
                Expectation(pods=12),
                (5, 11, 6, 12, 1),
            ),
        ],
        ids=str,
    )
    def test_the_numbers_are_in_pods(
        self, asked: PodUnavailableBudget, expectation: Expectation, numbers_: Numbers
    ) -> None:
        status = recount(asked, self.small, expectation, {}, "100", ADMITTED).status
        assert numbers(status) == numbers_
        assert not status.ledger.reached
        assert (status.ledger.unavailable_groups, status.ledger.surplus) == ([], {})

    @pytest.mark.parametrize(
        ("need", "before", "missing", "reached"),
        [
            (4, False, True, True),
            (8, False, True, False),
            (8, True, True, True),  # pods are lost: the groups had them
            (8, True, False, False),  # all owners have their pods, and no group its need
            (8, False, False, False),
        ],
    )
    def test_a_group_that_had_its_pods_proves_that_the_need_can_be_reached(
        self, need: int, before: bool, missing: bool, reached: bool
    ) -> None:
        counted = recount(
            known(before),
            groups_ready(need, a=4, b=3),
            Expectation(missing=missing),
            {},
            "100",
            ADMITTED,
        )
        assert counted.status.ledger.reached is reached
        assert counted.settled is not missing

    def test_a_scale_that_may_be_in_groups_is_no_number_of_pods(self) -> None:
        unsure = Expectation(pods=3, unsure={"sts-a": 1, "sts-b": 1, "sts-c": 1})
        status = recount(known(False), self.small, unsure, {}, "100", ADMITTED).status
        assert numbers(status) == (0, 11, 11, 12, 1)
        assert status.ledger.kept.keys() == {"sts-a", "sts-b", "sts-c"}
        # Where groups count, the number is that of the groups, and need not be kept.
        status = recount(
            known(False), groups_ready(4, a=4, b=4, c=4), unsure, {}, "100", ADMITTED
        ).status
        assert (status.total_replicas, status.ledger.kept) == (3, {})
        # Where pods count, it is taken for what it says.
        status = recount(
            budget(), pods_ready(4), Expectation(pods=3, unsure={"rs": 3}), {}, "1", ADMITTED
        ).status
        assert status.total_replicas == 3

    def test_another_spec_must_be_proved_anew(self) -> None:
        stale = msgspec.structs.replace(
            known(True), metadata=ObjectMeta(name="b", namespace="ns", generation=5)
        )
        status = recount(stale, self.small, Expectation(missing=True), {}, "1", ADMITTED).status
        assert not status.ledger.reached

    def test_pods_that_end_prove_nothing(self) -> None:
        counts = Counts(4)
        for number in range(4):
            member = Member(owner="s", available=number > 0, group="a", present=number > 0)
            counts.put(f"a-{number}", member)
        status = recount(known(False), counts, Expectation(), {}, "100", ADMITTED).status
        assert not status.ledger.reached

    def test_a_total_in_pods_is_no_total_in_groups(self) -> None:
        before = known(False, total_replicas=16)
        counts = groups_ready(4, a=4, b=4)
        status = recount(before, counts, Expectation(missing=True), {}, "100", ADMITTED).status
        assert status.total_replicas == 2

    def test_a_budget_without_pods_counts_the_groups_that_its_owners_want(self) -> None:
        status = recount(budget(groups=True), Counts(4), Expectation(3), {}, "1", ADMITTED).status
        assert numbers(status) == (0, 0, 2, 3, 3)

    def test_pods_without_a_group_label_are_no_groups(self) -> None:
        counts = Counts(4)
        counts.put("a", Member(owner="rs", available=True))
        asked = budget(groups=True, max_unavailable=None, min_available=1)
        status = recount(asked, counts, Expectation(pods=2), {}, "1", ADMITTED).status
        assert numbers(status) == (0, 1, 1, 2, 1)


def test_no_number_is_larger_than_the_api_takes() -> None:
    kept = {name: KeptPods(pods=10**30) for name in "abc"}
    asked = budget(
        groups=True,
        max_unavailable=None,
        min_available=2**31 - 1,
        ledger=Ledger(kept=kept),
        observed_generation=4,
    )
    counts = groups_ready(8, a=4)
    status = recount(asked, counts, Expectation(silent=(*"abc",)), {}, "100", ADMITTED).status
    assert numbers(status) == (0, 4, 2**31 - 1, 2**31 - 1, 2**31 - 5)
    assert status.stored_form()["ledger"]


def test_pods_that_are_gone_and_expected_keep_their_groups_expected() -> None:
    """Groups that only pods of owners without a scale tell of."""
    before = budget(
        groups=True,
        ledger=Ledger(
            reached=True, unavailable_groups=["b"], kept={"": KeptPods(pods=8), "x": KeptPods()}
        ),
        observed_generation=4,
        total_replicas=2,
    )
    counts = Counts(4)
    for number in range(4):
        counts.put(f"a-{number}", Member(owner="", available=True, group="a"))
    soon = recount(before, counts, Expectation(silent=("",)), {}, "100", ADMITTED)
    assert numbers(soon.status) == (0, 1, 1, 2, 1)
    assert soon.status.ledger.kept == {"": KeptPods(pods=8, gone={timestamp_after(ADMITTED): 4})}
    assert not soon.settled
    again = msgspec.structs.replace(before, status=soon.status)
    late = ADMITTED + timedelta(minutes=2)
    later = recount(again, counts, Expectation(silent=("",)), {}, "100", late)
    assert numbers(later.status) == (1, 1, 0, 1, 0)
    assert later.status.ledger.kept == {"": KeptPods(pods=4)}


def test_a_group_that_was_let_go_is_known_as_long_as_it_is_unavailable() -> None:
    before = budget(groups=True, ledger=Ledger(reached=True, let_go=["a", "b", "gone"]))
    counts = groups_ready(4, a=4, b=3, c=3)
    status = recount(before, counts, Expectation(), {}, "100", ADMITTED).status
    assert status.ledger.unavailable_groups == ["b", "c"]
    assert status.ledger.let_go == ["b"]


class TestGroupsThatOnlyRecordsMakeUnavailable:
    """Here each group has two ready pods."""

    LATER = ADMITTED + timedelta(seconds=1)

    def held(self, need: int, records: dict[str, LedgerRecord], *changed: str) -> dict[str, str]:
        counts = groups_ready(need, a=2, b=2)
        counts.set_ledger(records)
        before = budget(groups=True, ledger=Ledger(reached=True))
        here = [uid for uid in records if uid not in changed]
        found = recount(before, counts, Expectation(), records, "9", ADMITTED, untouched=here)
        return found.status.ledger.held

    def test_they_are_told_with_the_time_of_the_oldest_record(self) -> None:
        old, new = record(group="a"), record(group="a", at=timestamp_after(self.LATER))
        assert self.held(2, {"a-0": new, "a-1": old}) == {"a": timestamp_after(ADMITTED)}
        assert self.held(1, {"a-0": old}) == {}, "it has a pod more than it needs"
        assert self.held(3, {"a-0": old}) == {}, "it is down without the record"

    def test_a_group_is_down_in_truth_once_a_recorded_pod_changes(self) -> None:
        records = {name: record(group="a") for name in ("a-0", "a-1")}
        assert self.held(2, records, "a-0") == {}


@pytest.mark.parametrize(
    ("stored", "found", "expected"),
    [
        (DELETED, pod(), True),
        (MARKED, pod(), True),
        (UPDATED, pod(), True),
        (UPDATED, pod(image="web:2"), False),
        (BOTH, pod(image="web:2"), False),
        (DELETED, pod(**TERMINATING), False),
        (DELETED, pod(uid="another"), False),
        (DELETED, GONE, False),
    ],
)
def test_recorded_pods_are_untouched_until_they_go_or_change(
    stored: LedgerRecord, found: Pod | None, expected: bool
) -> None:
    assert untouched({"uid": stored}, lambda _name: found) == ({"uid"} if expected else set())


class TestAbsentGroups:
    """A group without a single pod, that is known from before."""

    before = budget(groups=True, ledger=Ledger(reached=True, unavailable_groups=["d"]))
    counts = groups_ready(4, a=4, b=4, c=4)

    def test_an_absent_group_counts_as_long_as_an_owner_misses_pods(self) -> None:
        status = recount(
            self.before, self.counts, Expectation(missing=True), {}, "100", ADMITTED
        ).status
        assert numbers(status) == (0, 3, 3, 4, 1)
        assert status.ledger.unavailable_groups == ["d"]

    def test_an_absent_group_is_forgotten_once_all_owners_have_their_pods(self) -> None:
        status = recount(self.before, self.counts, Expectation(), {}, "100", ADMITTED).status
        assert numbers(status) == (1, 3, 2, 3, 0)
        assert status.ledger.unavailable_groups == []

    def test_an_absent_group_may_be_known_from_a_record(self) -> None:
        records = {"d-0": record(group="d", version="101")}
        status = recount(
            budget(groups=True), self.counts, Expectation(missing=True), records, "100", ADMITTED
        ).status
        assert status.ledger.unavailable_groups == ["d"]
        assert status.total_replicas == 4

    def test_a_group_that_is_there_is_counted_once(self) -> None:
        counts = groups_ready(4, a=4, b=4, c=4, d=1)
        status = recount(self.before, counts, Expectation(missing=True), {}, "100", ADMITTED).status
        assert numbers(status) == (0, 3, 3, 4, 1)
        assert status.ledger.unavailable_groups == ["d"]


@given(
    ready=st.integers(0, 30),
    unready=st.integers(0, 10),
    total=st.none() | st.integers(0, 40),
    amount=st.integers(0, 40) | st.integers(0, 100).map(lambda percent: f"{percent}%"),
    as_max=st.booleans(),
)
def test_what_is_allowed_never_takes_the_available_below_desired(
    ready: int, unready: int, total: int | None, amount: int | str, as_max: bool
) -> None:
    asked = budget(
        max_unavailable=amount if as_max else None, min_available=None if as_max else amount
    )
    expectation = Expectation(total, silent=("rs",))
    status = recount(asked, pods_ready(ready, unready), expectation, {}, "1", ADMITTED).status
    assert status.unavailable_allowed >= 0
    if status.unavailable_allowed:
        assert ready - status.unavailable_allowed == status.desired_available
    else:
        assert ready <= status.desired_available


def test_a_recount_is_a_function_of_what_it_sees() -> None:
    counts = groups_ready(3, a=4, b=2)
    find: Callable[[str], Pod | None] = lambda _name: pod()  # noqa: E731
    first = unseen({"uid": DELETED}, find, "100", SOON, AS_READ)[0]
    assert unseen(first, find, "100", SOON, AS_READ)[0] == first
    status = recount(budget(groups=True), counts, Expectation(), first, "100", ADMITTED).status
    again = PodUnavailableBudget(
        metadata=budget().metadata, spec=budget(groups=True).spec, status=status
    )
    assert recount(again, counts, Expectation(), first, "100", ADMITTED).status == status
