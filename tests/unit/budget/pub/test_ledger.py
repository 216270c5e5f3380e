"""The ledger's records: what they say, when they are renewed, when their lifetime ends."""

from datetime import UTC, datetime, timedelta

import pytest

from intact.budget.pub.ledger import (
    FIRST_WAIT,
    LONGEST_WAIT,
    RECORD_LIFETIME,
    STANDS_FOR,
    Operation,
    expires_at,
    is_another_attempt,
    is_expired,
    is_sure,
    make_record,
    stands,
    stays_after,
    waits_until,
    with_record,
    with_shown_pods,
)
from intact.model.pub import ContainerMark, Ledger, LedgerRecord, LedgerStay, PubStatus
from intact.model.times import timestamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DELETE, EVICT, UPDATE = Operation.DELETE, Operation.EVICT, Operation.UPDATE
SECOND = timedelta(seconds=1)


def record(
    operation: Operation,
    containers: dict[str, ContainerMark] | None = None,
    *,
    name: str = "p",
    at: datetime = NOW,
) -> LedgerRecord:
    return make_record(name, operation, at, resource_version="7", containers=containers)


def recorded(*records: LedgerRecord) -> LedgerRecord:
    """What is in the ledger after these records of one pod, one after the other."""
    ledger = Ledger()
    for each in records:
        ledger = with_record(ledger, "uid", each)
    return ledger.pods["uid"]


def test_the_first_record_of_a_pod_is_kept_as_it_is_beside_the_others() -> None:
    other, one = record(EVICT, name="other"), record(DELETE)
    before = with_record(Ledger(seen="5"), "other", other)
    after = with_record(before, "uid", one)
    assert after == Ledger(seen="5", pods={"other": other, "uid": one})
    assert before.pods.keys() == {"other"}


# The first operation, the second, the operation of the record that results, and whether its
# lifetime begins anew.
RENEWED = [
    (DELETE, DELETE, DELETE, False),
    (DELETE, EVICT, DELETE, False),
    (DELETE, UPDATE, DELETE, False),
    (EVICT, EVICT, EVICT, False),
    (EVICT, UPDATE, EVICT, False),
    (EVICT, DELETE, DELETE, True),
    (UPDATE, DELETE, DELETE, True),
    (UPDATE, EVICT, EVICT, True),
    (UPDATE, UPDATE, UPDATE, False),
]


@pytest.mark.parametrize(("first", "second", "kept", "anew"), RENEWED)
def test_only_another_attempt_begins_a_new_lifetime(
    first: Operation, second: Operation, kept: Operation, anew: bool
) -> None:
    before, again = record(first), record(second, at=NOW + SECOND)
    assert is_another_attempt(before, again) == anew
    renewed = recorded(before, again)
    assert (renewed.operation, renewed.at) == (kept, again.at if anew else before.at)


UPDATES = {
    "the same image again, on a pod whose status has changed": ("8", "img:2", False),
    "another image": ("8", "img:3", True),
    "another image, on a pod that has not changed": ("7", "img:3", False),
}


@pytest.mark.parametrize(("version", "image", "anew"), UPDATES.values(), ids=UPDATES)
def test_an_update_is_repeated_or_another_one(version: str, image: str, anew: bool) -> None:
    before = record(UPDATE, {"main": mark("c1", "img:1", "img:2")})
    marks = {"main": mark("c1", "img:1", image)}
    again = make_record("p", UPDATE, NOW, resource_version=version, containers=marks)
    assert is_another_attempt(before, again) == anew


def mark(container: str, image: str, wanted: str, image_id: str = "") -> ContainerMark:
    return ContainerMark(container_id=container, image=image, wanted=wanted, image_id=image_id)


def test_a_deletion_of_a_pod_that_is_updated_keeps_the_marks_of_the_update() -> None:
    """The pod stays recorded until it is gone; if it does not go, until the update is over."""
    marks = {"main": mark("c1", "img:1", "img:2")}
    assert recorded(record(UPDATE, marks), record(DELETE)).containers == marks


def test_an_update_of_another_container_adds_its_mark() -> None:
    main = {"main": mark("c1", "img:1", "img:2", "id-1")}
    side = {"side": mark("c7", "side:1", "side:2", "id-7")}
    assert recorded(record(UPDATE, main), record(UPDATE, side)).containers == main | side


# The mark of the second change of a container, and the mark that is kept. An image ID would end the
# change as soon as any other image runs.
MARKED_AGAIN = {
    "the same container still runs": (
        mark("c1", "img:2", "img:3", "id-1"),
        mark("c1", "img:1", "img:3"),
    ),
    "another container runs by now": (
        mark("c2", "img:2", "img:3", "id-2"),
        mark("c2", "img:2", "img:3"),
    ),
}


@pytest.mark.parametrize(("second", "kept"), MARKED_AGAIN.values(), ids=MARKED_AGAIN)
def test_a_container_that_is_changed_once_more_is_marked_again(
    second: ContainerMark, kept: ContainerMark
) -> None:
    first = mark("c1", "img:1", "img:2", "id-1")
    renewed = recorded(record(UPDATE, {"main": first}), record(UPDATE, {"main": second}))
    assert renewed.containers == {"main": kept}


@pytest.mark.parametrize("operation", [DELETE, EVICT, UPDATE])
def test_a_record_answers_for_its_pod_while_it_is_young(operation: Operation) -> None:
    assert stands(record(operation, at=NOW - STANDS_FOR + SECOND).at, NOW)
    assert not stands(record(operation, at=NOW - STANDS_FOR).at, NOW)


# The operation of the record, the operation that is asked for, whether nothing has to be written.
SURE = [
    (DELETE, DELETE, True),
    (DELETE, EVICT, True),
    (EVICT, EVICT, True),
    (DELETE, UPDATE, False),
    (UPDATE, DELETE, False),
    (UPDATE, UPDATE, False),
]


@pytest.mark.parametrize(("known", "asked", "expected"), SURE)
def test_only_the_record_of_a_deletion_is_sure_to_be_stored_still(
    known: Operation, asked: Operation, expected: bool
) -> None:
    assert is_sure(record(known), asked) == expected


class TestTurns:
    """Pods that were let go and stayed."""

    def stay(self, times: int = 1, age: timedelta = timedelta()) -> LedgerStay:
        return LedgerStay(operation=EVICT, at=timestamp(NOW - age), times=times)

    def test_the_wait_doubles_up_to_a_bound(self) -> None:
        waits = []
        for times in range(1, 12):
            until = waits_until(self.stay(times), EVICT, NOW)
            assert until is not None
            waits.append(until - NOW)
        assert waits[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
        assert waits[-1] == LONGEST_WAIT

    def test_only_what_was_refused_waits(self) -> None:
        assert waits_until(None, EVICT, NOW) is None
        assert waits_until(self.stay(), DELETE, NOW) is None
        assert waits_until(self.stay(age=FIRST_WAIT), EVICT, NOW) is None

    @pytest.mark.parametrize(
        "at", ["", "soon", "2026-01-01", "9999-12-31T23:59:59Z", "2126-01-01T00:00:00Z"]
    )
    def test_a_time_that_cannot_be_holds_nothing(self, at: str) -> None:
        stay = LedgerStay(operation=EVICT, at=at, times=10**9)
        assert waits_until(stay, EVICT, NOW) is None
        assert stays_after({"u": stay}, {}, lambda _uid: True, NOW) == {}

    def test_a_pod_that_stays_again_waits_longer_and_one_that_is_gone_is_forgotten(self) -> None:
        known = {"again": self.stay(), "gone": self.stay(), "old": self.stay(age=timedelta(days=1))}
        stayed = {"again": record(EVICT), "first": record(DELETE)}
        found = stays_after(known, stayed, lambda uid: uid != "gone", NOW)
        assert {uid: (one.operation, one.times) for uid, one in found.items()} == {
            "again": (EVICT, 2),
            "first": (DELETE, 1),
        }

    def test_their_number_is_bounded(self) -> None:
        known = {str(number): self.stay() for number in range(1000)}
        found = stays_after(known, {"new": record(EVICT)}, lambda _uid: True, NOW)
        assert len(found) == 100
        assert "new" in found


def test_a_record_never_ends_early_although_times_have_no_fractions() -> None:
    moment = NOW + timedelta(microseconds=1)
    one = record(DELETE, at=moment)
    assert one.at == "2026-01-01T12:00:01Z"
    assert not is_expired(one, moment + RECORD_LIFETIME - timedelta(microseconds=1))
    assert is_expired(one, expires_at(one.at))


def test_pods_are_shown_by_what_was_admitted() -> None:
    records = {"u1": record(DELETE, name="a"), "u2": record(EVICT, name="b")}
    records["u3"] = record(UPDATE, name="c")
    stale = PubStatus(disrupted_pods={"old": "x"}, unavailable_pods={"old": "x"}, total_replicas=9)
    shown = with_shown_pods(stale.with_ledger(Ledger(pods=records)))
    at = "2026-01-01T12:00:00Z"
    assert shown.disrupted_pods == {"a": at, "b": at}
    assert shown.unavailable_pods == {"c": at}
    assert (shown.total_replicas, shown.ledger.pods) == (9, records)
