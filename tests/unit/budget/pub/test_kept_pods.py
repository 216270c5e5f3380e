"""How many pods are expected of owners that do not say it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pub.kept_pods import GONE_FOR, keep, next_forgotten
from intact.model.amounts import MOST_REPLICAS
from intact.model.pub import KeptPods
from intact.model.times import parse_time, timestamp_after

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT = timestamp_after(NOW)
EARLIER = timestamp_after(NOW - timedelta(seconds=30))
LONG_AGO = timestamp_after(NOW - GONE_FOR)

# What is kept, the pods that are there and that end, and what is kept then.
ROWS: dict[str, tuple[KeptPods | None, int, int, KeptPods]] = {
    "met for the first time": (None, 3, 0, KeptPods(pods=3)),
    "met while a pod goes": (None, 3, 1, KeptPods(pods=4)),
    "all are there": (KeptPods(pods=4), 4, 0, KeptPods(pods=4)),
    "one more": (KeptPods(pods=4), 5, 0, KeptPods(pods=5)),
    "one goes": (KeptPods(pods=4), 3, 1, KeptPods(pods=4)),
    "one goes, and its successor is there": (KeptPods(pods=4), 4, 1, KeptPods(pods=4)),
    "one is gone": (KeptPods(pods=4), 3, 0, KeptPods(pods=4, gone={AT: 1})),
    "all are gone": (KeptPods(pods=4), 0, 0, KeptPods(pods=4, gone={AT: 4})),
    "one was gone, and another goes": (
        KeptPods(pods=4, gone={EARLIER: 1}),
        2,
        1,
        KeptPods(pods=4, gone={EARLIER: 1}),
    ),
    "one was gone, and now another": (
        KeptPods(pods=4, gone={EARLIER: 1}),
        2,
        0,
        KeptPods(pods=4, gone={EARLIER: 1, AT: 1}),
    ),
    "a successor comes": (KeptPods(pods=4, gone={EARLIER: 1}), 4, 0, KeptPods(pods=4)),
    "a successor comes for the one that was gone longest": (
        KeptPods(pods=4, gone={EARLIER: 1, AT: 1}),
        3,
        0,
        KeptPods(pods=4, gone={AT: 1}),
    ),
    "gone for long": (KeptPods(pods=4, gone={LONG_AGO: 1}), 3, 0, KeptPods(pods=3)),
    "one gone for long, one not": (
        KeptPods(pods=4, gone={LONG_AGO: 1, EARLIER: 1}),
        2,
        0,
        KeptPods(pods=3, gone={EARLIER: 1}),
    ),
    "more than there were": (KeptPods(pods=4, gone={EARLIER: 1}), 6, 0, KeptPods(pods=6)),
    # Whatever stands in a ledger: it is late at the latest `GONE_FOR` from now.
    "no time": (KeptPods(pods=4, gone={"x": 1}), 3, 0, KeptPods(pods=4, gone={AT: 1})),
    "a time to come": (
        KeptPods(pods=4, gone={"2999-01-01T00:00:00Z": 1}),
        3,
        0,
        KeptPods(pods=4, gone={AT: 1}),
    ),
    "a time without a zone": (
        KeptPods(pods=4, gone={"2026-01-01T11:00:00": 1}),
        3,
        0,
        KeptPods(pods=4, gone={AT: 1}),
    ),
    "the last time that there is": (
        KeptPods(pods=4, gone={"9999-12-31T23:59:59.999999Z": 1}),
        3,
        0,
        KeptPods(pods=4, gone={AT: 1}),
    ),
    "more than any API takes": (
        KeptPods(pods=10**30, gone={EARLIER: 10**30}),
        3,
        0,
        KeptPods(pods=MOST_REPLICAS, gone={EARLIER: MOST_REPLICAS - 3}),
    ),
    "less than nothing": (KeptPods(pods=-4, gone={EARLIER: -2}), 3, 0, KeptPods(pods=3)),
}


@pytest.mark.parametrize(("before", "present", "ending", "after"), ROWS.values(), ids=ROWS)
def test_each_row_of_what_happens(
    before: KeptPods | None, present: int, ending: int, after: KeptPods
) -> None:
    assert keep(before, present, ending, NOW) == after
    assert keep(after, present, ending, NOW) == after


@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(0, 6), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    )
)
def test_what_was_there_is_expected_for_as_long_as_it_may_come_back(
    steps: list[tuple[int, int, int]],
) -> None:
    """As many as were there at any moment of the last `GONE_FOR`, and none for longer."""
    now, kept, seen = NOW, None, list[tuple[datetime, int]]()
    for seconds, present, ending in steps:
        now += timedelta(seconds=seconds)
        kept = keep(kept, present, ending, now)
        seen.append((now, present))
        lately = max(number for moment, number in seen if now - moment < GONE_FOR)
        assert kept.pods >= lately
    assert kept is not None
    late = now + GONE_FOR + timedelta(seconds=1)
    assert keep(keep(kept, 1, 0, now), 1, 0, late).pods == 1


def test_the_next_pod_is_forgotten_when_it_has_been_gone_for_long_enough() -> None:
    kept = [KeptPods(pods=3), KeptPods(pods=4, gone={AT: 1, EARLIER: 1})]
    assert next_forgotten(kept) == parse_time(EARLIER) + GONE_FOR
    assert next_forgotten(kept[:1]) is None
