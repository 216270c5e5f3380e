"""Pods of owners that do not say how many they want: as many are expected as there were.

Such owners are custom kinds without a scale, kinds that Intact may not read, and none at all. The
total must not shrink because of what the budget itself admitted, so the ledger keeps how many pods
each owner had.

| what happens | the number that is expected |
|---|---|
| the owner is met for the first time | the pods that are there, also those on their way out |
| pods have lost their owner | the same, and those that the budget let go just before |
| a pod comes | as before, if it succeeds one that goes or is gone; else one more |
| a pod is on its way out | as before |
| a pod is gone, or has finished | as before, until it has been gone for `GONE_FOR`; then one less |

It does not matter who took the pod: what the gate has not seen (a force, a failure) is missing all
the same.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from intact.model.amounts import MOST_REPLICAS
from intact.model.pub import KeptPods
from intact.model.times import parse_time, timestamp_after

GONE_FOR = timedelta(minutes=2)
"""How long a pod that is gone is expected back. Kubernetes gives an evicted pod as long to go, and
a controller makes a successor within seconds, if it makes one."""


def keep(before: KeptPods | None, present: int, ending: int, now: datetime) -> KeptPods:
    """`present` pods are there; `ending` ones are on their way out."""
    if before is None:
        return KeptPods(pods=present + ending)
    expected = max(min(before.pods, MOST_REPLICAS), present)
    missing = max(0, expected - present - ending)
    gone = _gone(before.gone, missing, now)
    waited_for = {at: number for at, number in gone.items() if now < _until(at)}
    forgotten = sum(gone.values()) - sum(waited_for.values())
    return KeptPods(pods=expected - forgotten, gone=waited_for)


def with_gone(kept: KeptPods, number: int, now: datetime) -> KeptPods:
    """So many more, which have just gone."""
    if number <= 0:
        return kept
    return KeptPods(pods=kept.pods + number, gone={**kept.gone, timestamp_after(now): number})


def _gone(before: dict[str, int], missing: int, now: datetime) -> dict[str, int]:
    """The pods that are missing, by since when. A successor takes the place of the one that has
    been gone longest; whatever else is missing has just gone."""
    latest = timestamp_after(now)
    times: dict[str, int] = {}
    for at, number in before.items():
        known = at if _is_time(at) and at <= latest else latest
        times[known] = times.get(known, 0) + max(0, number)
    left: dict[str, int] = {}
    for at in sorted(times, reverse=True):
        left[at] = min(times[at], missing)
        missing -= left[at]
    left[latest] = left.get(latest, 0) + missing
    return {at: number for at, number in sorted(left.items()) if number}


def _is_time(text: str) -> bool:
    try:
        return timestamp_after(parse_time(text)) == text
    except (ValueError, OverflowError):
        return False


def _until(at: str) -> datetime:
    return parse_time(at) + GONE_FOR


def next_forgotten(kept: Iterable[KeptPods]) -> datetime | None:
    """When the next pod that is gone is no longer expected."""
    return min((_until(at) for one in kept for at in one.gone if _is_time(at)), default=None)
