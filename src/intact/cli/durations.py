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
