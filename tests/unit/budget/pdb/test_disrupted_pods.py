"""The entries of disruptedPods of a budget that counts groups: how long each stays."""

from datetime import UTC, datetime, timedelta

import pytest

from intact.budget.pdb import disrupted_pods
from intact.budget.pdb.disrupted_pods import look_again, past_evictions, recorded_uids
from intact.budget.pdb.group_counts import Seen
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import a_pod

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


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
    late = disrupted_pods.overdue({"x": at(0)}, ledger, lambda _: pod, seen, now)
    assert found.overdue == tuple(late)
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


def test_which_pods_the_entries_stand_for() -> None:
    pods = {
        "recorded": a_pod("recorded", uid="one", created=at(5)),
        "older": a_pod("older", created=at(-5)),
        "younger": a_pod("younger", created=at(5)),
    }
    disrupted = dict.fromkeys([*pods, "gone"], at(0))
    ledger = GroupLedger(pods={"recorded": UID1})
    assert recorded_uids(disrupted, ledger, pods.get) == ["one", "uid-older"]


def test_an_eviction_is_remembered_while_its_entry_may_still_be_seen() -> None:
    evicted = {name: Seen(name, at(0)) for name in ("listed", "past")}
    after = NOW + timedelta(minutes=2)
    assert past_evictions(evicted, {"listed": at(0)}, after) == ()
    later = after + timedelta(seconds=1)
    assert past_evictions(evicted, {"listed": at(0)}, later) == ("past",)
