"""Times as the API writes them: RFC 3339, in UTC.

| function | for | rounds |
|---|---|---|
| `timestamp` | conditions, events: when something was seen | down to the second |
| `timestamp_after` | ledgers: from when something may count as late | up, so that it is never late early |
| `micro_timestamp` | leases | not at all |
"""  # noqa: E501

import re
from datetime import MAXYEAR, UTC, datetime, timedelta

SKEW = timedelta(seconds=10)
_ALMOST_A_SECOND = timedelta(microseconds=999_999)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_after(moment: datetime) -> str:
    """The first whole second that is not before the moment."""
    return timestamp(moment + _ALMOST_A_SECOND)


def micro_timestamp(moment: datetime) -> str:
    """Kubernetes' MicroTime: always six digits."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """In UTC, which is meant where no zone is given. Raises ValueError if the text is not a time,
    or one with which nothing can be computed."""
    found = datetime.fromisoformat(text)
    try:
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text} is out of range") from error
    if found.year == MAXYEAR:
        raise ValueError(f"{text} is out of range")
    return found


def is_time(text: str) -> bool:
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def past_time(text: str, now: datetime) -> str:
    """The time itself, or now in its place, if it is not a time or is yet to come: what counts from
    then on must end. Clocks of several machines may differ by `SKEW`. A time in another form is
    none: the API server would refuse a status with it."""
    try:
        is_past = parse_time(text) <= now + SKEW
    except ValueError:
        is_past = False
    return text if is_past and _RFC_3339.fullmatch(text) else timestamp_after(now)
