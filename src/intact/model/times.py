"""Times as the API writes them: RFC 3339, in UTC.

| function | for | rounds |
|---|---|---|
| `timestamp` | conditions, events: when something was seen | down to the second |
| `timestamp_after` | ledgers: from when something may count as late | up, so that it is never late early |
| `micro_timestamp` | leases | not at all |
"""  # noqa: E501

from datetime import UTC, datetime, timedelta

_ALMOST_A_SECOND = timedelta(microseconds=999_999)


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_after(moment: datetime) -> str:
    """The first whole second that is not before the moment."""
    return timestamp(moment + _ALMOST_A_SECOND)


def micro_timestamp(moment: datetime) -> str:
    """Kubernetes' MicroTime: always six digits."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Raises ValueError if the text is not a time."""
    return datetime.fromisoformat(text)
