"""The ledger's records: what they say, when they are renewed, when their lifetime ends."""

from datetime import UTC, datetime, timedelta

import pytest

from intact.budget.pub.ledger import (
    RECORD_LIFETIME,
    RENEW_AFTER,
    Operation,
    expires_at,
    is_expired,
    make_record,
    stands,
    with_record,
    with_shown_pods,
)
from intact.model.pub import ContainerMark, Ledger, LedgerRecord, PubStatus

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


# The first operation, the second, and the operation of the record that results.
RENEWED = [
    (DELETE, UPDATE, DELETE),
    (EVICT, UPDATE, EVICT),
    (EVICT, DELETE, EVICT),
    (UPDATE, DELETE, DELETE),
    (UPDATE, EVICT, EVICT),
    (UPDATE, UPDATE, UPDATE),
]


@pytest.mark.parametrize(("first", "second", "kept"), RENEWED)
def test_a_renewed_record_of_a_deletion_stays_one(
    first: Operation, second: Operation, kept: Operation
) -> None:
    again = record(second, at=NOW + SECOND)
    renewed = recorded(record(first), again)
    assert (renewed.operation, renewed.at) == (kept, again.at)


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


# The operation of the record, its age, the operation that is asked for, whether the record stands.
STANDS = [
    (DELETE, timedelta(), DELETE, True),
    (DELETE, timedelta(), EVICT, True),
    (EVICT, RENEW_AFTER - SECOND, DELETE, True),
    (EVICT, RENEW_AFTER, DELETE, False),
    (DELETE, RECORD_LIFETIME * 3, EVICT, False),
    (DELETE, timedelta(), UPDATE, False),
    (UPDATE, timedelta(), DELETE, False),
    (UPDATE, timedelta(), EVICT, False),
    (UPDATE, timedelta(), UPDATE, False),
]


@pytest.mark.parametrize(("known", "age", "asked", "expected"), STANDS)
def test_only_a_young_record_of_a_deletion_stands(
    known: Operation, age: timedelta, asked: Operation, expected: bool
) -> None:
    assert stands(record(known, at=NOW - age), asked, NOW) == expected


def test_a_record_never_ends_early_although_times_have_no_fractions() -> None:
    moment = NOW + timedelta(microseconds=1)
    one = record(DELETE, at=moment)
    assert one.at == "2026-01-01T12:00:01Z"
    assert not is_expired(one, moment + RECORD_LIFETIME - timedelta(microseconds=1))
    assert is_expired(one, expires_at(one))


def test_pods_are_shown_by_what_was_admitted() -> None:
    records = {"u1": record(DELETE, name="a"), "u2": record(EVICT, name="b")}
    records["u3"] = record(UPDATE, name="c")
    stale = PubStatus(disrupted_pods={"old": "x"}, unavailable_pods={"old": "x"}, total_replicas=9)
    shown = with_shown_pods(stale.with_ledger(Ledger(pods=records)))
    at = "2026-01-01T12:00:00Z"
    assert shown.disrupted_pods == {"a": at, "b": at}
    assert shown.unavailable_pods == {"c": at}
    assert (shown.total_replicas, shown.ledger.pods) == (9, records)
