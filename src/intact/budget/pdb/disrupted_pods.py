"""The entries of disruptedPods of a PodDisruptionBudget that counts groups: how long each stays.

The API server writes an entry when it allows an eviction. Only the recount removes entries. An entry
names a pod. It stands for the pod that had this name when the entry was written: the pod that the
gate knew, or any pod that is not younger than the entry.

| the pod of that name | its entry stays |
|---|---|
| exists and is not going | for two minutes: after that it was not evicted after all |
| was seen to go by an eviction, not before the entry was written | no longer |
| is younger than the entry | no longer |
| is gone, going or finished for another reason; or is another pod of the same age | for 10 seconds, in case the eviction means the younger pod |
"""  # noqa: E501

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from intact.budget.pdb.group_counts import Seen
from intact.budget.pdb.pods import DELETION_TIMEOUT
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.times import parse_time

SETTLED = timedelta(seconds=10)
"""By then the API server has surely deleted the pod whose eviction it allowed."""


Find = Callable[[str], Pod | None]
"""The pod that has a name now, as far as the store knows."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The entries of disruptedPods, looked at again."""

    kept: dict[str, str]
    """Names and times."""
    recorded: tuple[str, ...]
    """UIDs of the pods that the kept entries stand for."""
    overdue: tuple[Pod, ...]
    """Pods that did not go in time."""


class _Fate(Enum):
    """What becomes of an entry of disruptedPods."""

    STAYS = auto()
    ENDS = auto()
    OVERDUE = auto()


def stands_for(pod: Pod, at: str, record: GroupRecord | None) -> bool:
    """Whether the pod that has the name now may be the one that an entry means."""
    if record is not None and record.uid == pod.metadata.uid:
        return True
    created = pod.metadata.creation_timestamp
    return not created or parse_time(created) <= parse_time(at)


def recorded_uids(disrupted: Mapping[str, str], ledger: GroupLedger, find: Find) -> list[str]:
    """The pods that must not be counted on."""
    pods = ((find(name), at, ledger.pods.get(name)) for name, at in disrupted.items())
    return [pod.metadata.uid for pod, at, record in pods if pod and stands_for(pod, at, record)]


def overdue(
    disrupted: Mapping[str, str],
    ledger: GroupLedger,
    find: Find,
    evicted: Mapping[str, Seen],
    now: datetime,
) -> list[Pod]:
    """The pods that did not go in time, as far as the store knows: the caller asks the API server
    about them, and passes the answer to `look_again` as `is_fresh`."""
    found = []
    for name, at in disrupted.items():
        pod = find(name)
        fate = _fate(at, pod, ledger.pods.get(name), evicted.get(name), now)
        if pod is not None and fate is _Fate.OVERDUE:
            found.append(pod)
    return found


def look_again(
    disrupted: Mapping[str, str],
    ledger: GroupLedger,
    find: Find,
    evicted: Mapping[str, Seen],
    now: datetime,
    is_fresh: Callable[[Pod], bool] = lambda _pod: True,
) -> Standing:
    """`evicted` are pods that were seen to go by an eviction. `is_fresh` says whether a pod is
    still as the store has it: if the store is behind, nothing is overdue."""
    kept: dict[str, str] = {}
    late: list[Pod] = []
    for name, at in disrupted.items():
        pod = find(name)
        fate = _fate(at, pod, ledger.pods.get(name), evicted.get(name), now)
        if fate is _Fate.ENDS:
            continue
        if pod is not None and fate is _Fate.OVERDUE and is_fresh(pod):
            late.append(pod)
        else:
            kept[name] = at
    return Standing(kept, tuple(recorded_uids(kept, ledger, find)), tuple(late))


def _fate(
    at: str, pod: Pod | None, record: GroupRecord | None, seen: Seen | None, now: datetime
) -> _Fate:
    if _was_seen(seen, record, at):
        return _Fate.ENDS
    if pod is not None and not stands_for(pod, at, record):
        return _Fate.ENDS
    if pod is None or is_gone(pod) or (record and record.uid != pod.metadata.uid):
        return _Fate.STAYS if now < parse_time(at) + SETTLED else _Fate.ENDS
    return _Fate.STAYS if now < parse_time(at) + DELETION_TIMEOUT else _Fate.OVERDUE


def _was_seen(seen: Seen | None, record: GroupRecord | None, at: str) -> bool:
    """Whether the recorded pod itself was seen to go, and not for an earlier entry."""
    if seen is None or record is None or seen.uid != record.uid:
        return False
    return parse_time(seen.at) >= parse_time(at)


def past_evictions(
    evicted: Mapping[str, Seen], disrupted: Mapping[str, str], now: datetime
) -> tuple[str, ...]:
    """Evictions whose entry in disruptedPods cannot appear any more. Until then the counts remember
    them, because a store may show the entry later than the end of its pod."""
    return tuple(
        name
        for name, seen in evicted.items()
        if name not in disrupted and parse_time(seen.at) + DELETION_TIMEOUT < now
    )
