"""Times as the API writes them, in each direction."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.model.times import (
    SKEW,
    micro_timestamp,
    parse_time,
    past_time,
    timestamp,
    timestamp_after,
)

EXACT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
moments = st.integers(-(10**15), 10**15).map(lambda number: EXACT + timedelta(microseconds=number))

WRITTEN = {
    # moment: rounded down, rounded up, exact
    "a whole second": (
        EXACT,
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:07.000000Z",
    ),
    "a microsecond later": (
        EXACT + timedelta(microseconds=1),
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:08Z",
        "2026-03-04T05:06:07.000001Z",
    ),
    "a microsecond before the next": (
        EXACT + timedelta(microseconds=999_999),
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:08Z",
        "2026-03-04T05:06:07.999999Z",
    ),
    "another time zone": (
        EXACT.astimezone(timezone(timedelta(hours=9))),
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:07Z",
        "2026-03-04T05:06:07.000000Z",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_each_form_of_a_time(name: str) -> None:
    moment, *texts = WRITTEN[name]
    assert [timestamp(moment), timestamp_after(moment), micro_timestamp(moment)] == texts


@given(moment=moments)
def test_what_is_written_is_read_again(moment: datetime) -> None:
    assert parse_time(micro_timestamp(moment)) == moment
    assert parse_time(timestamp(moment)) <= moment <= parse_time(timestamp_after(moment))
    second = timedelta(seconds=1)
    assert parse_time(timestamp_after(moment)) - moment < second
    assert moment - parse_time(timestamp(moment)) < second


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-04T05:06:07", EXACT),
        ("2026-03-04T10:36:07+05:30", EXACT),
        ("2026-03-04T05:06:07.123456789Z", EXACT + timedelta(microseconds=123456)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_times_of_all_zones_and_precisions_are_read_as_utc(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment
    assert parse_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"],
)
def test_times_with_which_nothing_can_be_computed_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="out of range"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        (timestamp(EXACT + SKEW), timestamp(EXACT + SKEW)),
        (timestamp(EXACT + SKEW + timedelta(seconds=1)), timestamp(EXACT)),
        ("9999-12-31T23:59:59Z", timestamp(EXACT)),
        ("tomorrow", timestamp(EXACT)),
        ("2026-03-04T05:06:07.5Z", "2026-03-04T05:06:07.5Z"),
        ("2026-03-04T10:36:07+05:30", "2026-03-04T10:36:07+05:30"),
        ("20260304T050607Z", timestamp(EXACT)),
        ("2026-W10-3T05:06:07Z", timestamp(EXACT)),
        ("2026-03-04 05:06:07Z", timestamp(EXACT)),
        ("2026-03-04T05:06:07,5Z", timestamp(EXACT)),
        ("2026-03-04T05:06:07", timestamp(EXACT)),
        ("2026-03-04", timestamp(EXACT)),
        ("", timestamp(EXACT)),
    ],
)
def test_a_time_that_is_yet_to_come_becomes_now(text: str, past: str) -> None:
    assert past_time(text, EXACT) == past
