"""Durations on the command line: 90, 90s, 2m, 1h30m; by workload: WORKLOAD=90s."""

import re
from typing import Any

import click

_LONGEST = 365 * 24 * 3600.0
_PARTS = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)


def seconds(text: str) -> float:
    """Raises ValueError."""
    found = _PARTS.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is not a duration, such as 90s, 2m or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + rest
    if total > _LONGEST:
        raise ValueError(f"{text!r} is longer than a year")
    return total


def duration(seconds: float) -> str:
    """As people write it: 7s, 1m30s, 2h5m."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if minutes:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    return f"{rest}s"


_AGES = (
    # Up to this many seconds: the two units that it is said in, as kubectl does.
    (120, 1, "s", 0, ""),
    (600, 60, "m", 1, "s"),
    (3 * 3600, 60, "m", 0, ""),
    (8 * 3600, 3600, "h", 60, "m"),
    (48 * 3600, 3600, "h", 0, ""),
    (8 * 86400, 86400, "d", 3600, "h"),
    (2 * 365 * 86400, 86400, "d", 0, ""),
    (8 * 365 * 86400, 365 * 86400, "y", 86400, "d"),
)


def age(seconds: float) -> str:
    """As kubectl writes ages: 45s, 2m5s, 17m, 3h20m, 5d."""
    whole = max(0, int(seconds))
    for limit, unit, name, smaller, its_name in _AGES:
        if whole < limit:
            rest = whole % unit // smaller if smaller else 0
            return f"{whole // unit}{name}" + (f"{rest}{its_name}" if rest else "")
    return f"{whole // (365 * 86400)}y"


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        try:
            return seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class WorkloadDuration(click.ParamType[tuple[str, float]]):
    """A pair: the workload, empty for all others, and seconds."""

    name = "[workload=]duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, float]:
        workload, _, text = value.rpartition("=")
        try:
            return workload, seconds(text)
        except ValueError as error:
            self.fail(str(error), param, ctx)
