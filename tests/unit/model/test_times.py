"""Times as the API writes them, in each direction."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.model.times import micro_timestamp, parse_time, timestamp, timestamp_after

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
