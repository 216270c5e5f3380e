"""The ledger's records: disruptions that the gate has admitted and no recount has seen happen yet.

Five rules:
- A record stands for one pod, by its UID: a StatefulSet's pod comes back under the same name.
- A record has a lifetime, after which the recount gives the unit back.
- Repeating a request does not renew the record. For `STANDS_FOR` the record answers for its pod;
  then nothing more is admitted on it, so that it can end. Only another attempt renews it.
- What is free only because of other records does not outlive them: it takes the time of the oldest.
  Otherwise two pods of a group that both stay could hold its unit for ever, in turn.
- A renewed record never says less than the one before it: an admitted deletion stays a deletion,
  and containers that were to restart stay marked.

| the record is of | the gate is asked for | this is |
|---|---|---|
| a deletion | anything | the same attempt |
| an eviction | a deletion | another attempt: what refuses evictions may not refuse deletions |
| an eviction | an eviction, an update | the same attempt |
| an update | a deletion, an eviction | another attempt |
| an update | the same images, or a pod that has not changed since | the same attempt |
| an update | any other update | another attempt: what the pod waits for has changed |

A pod that was admitted to go and is still here at the end of its record's lifetime has had its
turn: something else refuses it, such as another webhook. It waits, longer each time, and other pods
go first.

Only the record of a deletion is sure to be in the stored ledger still, however old this copy of the
budget is: nothing clears it but the end of the pod, or of its lifetime. The record of an update may
be cleared by now, so it must be written again.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from intact.model.pub import ContainerMark, Ledger, LedgerRecord, LedgerStay, PubStatus
from intact.model.times import parse_time, timestamp, timestamp_after

RECORD_LIFETIME = timedelta(seconds=30)
"""How long an admitted operation may take to be seen. After it the unit is given back."""
STANDS_FOR = timedelta(seconds=10)
"""The age up to which a record answers for its pod if the pod is asked for again. What is admitted
then has the rest of the lifetime to happen."""
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(minutes=16)
"""How long a pod waits that has had its turn: twice as long each time, between these bounds."""
_FORGET_AFTER = timedelta(hours=1)
_MOST_STAYS = 100
"""Pods that have had their turn, in one ledger."""


class Operation(StrEnum):
    DELETE = "DELETE"
    EVICT = "EVICT"
    UPDATE = "UPDATE"


def make_record(
    name: str,
    operation: Operation,
    now: datetime,
    *,
    resource_version: str,
    group: str | None = None,
    containers: dict[str, ContainerMark] | None = None,
) -> LedgerRecord:
    return LedgerRecord(
        name=name,
        operation=operation,
        at=timestamp_after(now),
        resource_version=resource_version,
        group=group,
        containers=containers or {},
    )


def with_record(ledger: Ledger, uid: str, record: LedgerRecord) -> Ledger:
    """The ledger with this record of the pod, in the place of the one that it may have already."""
    known = ledger.pods.get(uid)
    if known is not None:
        record = _renewed(known, record)
    return msgspec.structs.replace(ledger, pods={**ledger.pods, uid: record})


def _renewed(known: LedgerRecord, new: LedgerRecord) -> LedgerRecord:
    marks = known.containers | _marked_again(known.containers, new.containers)
    if is_another_attempt(known, new):
        return msgspec.structs.replace(new, containers=marks)
    # An admitted deletion may come at any moment, whatever else is asked for.
    return msgspec.structs.replace(new, operation=known.operation, at=known.at, containers=marks)


def is_another_attempt(known: LedgerRecord, new: LedgerRecord) -> bool:
    """Whether a request asks for more than the one that was recorded. See the table."""
    if known.operation == Operation.EVICT:
        return new.operation == Operation.DELETE
    if known.operation != Operation.UPDATE:
        return False
    if new.operation != Operation.UPDATE:
        return True
    wanted = {name: mark.wanted for name, mark in new.containers.items() if mark.wanted}
    before = {name: mark.wanted for name, mark in known.containers.items() if mark.wanted}
    same_images = bool(wanted) and wanted == before
    return not same_images and new.resource_version != known.resource_version


def _marked_again(
    before: dict[str, ContainerMark], now: dict[str, ContainerMark]
) -> dict[str, ContainerMark]:
    """The marks of containers that are changed once more.

    The kubelet may still restart such a container for the earlier change, so another image than the
    one that runs now does not end the change. As long as the same container runs, the first mark
    says which image it was started from.
    """
    marks = dict(now)
    for name in now.keys() & before.keys():
        same = now[name].container_id == before[name].container_id
        image = before[name].image if same else now[name].image
        marks[name] = msgspec.structs.replace(now[name], image_id="", image=image)
    return marks


def stands(at: str, now: datetime) -> bool:
    """Whether a record of this time answers for its pod if the same is asked for again."""
    return now - parse_time(at) < STANDS_FOR


def is_sure(record: LedgerRecord, operation: Operation) -> bool:
    """Whether nothing has to be written while the record stands."""
    return record.operation != Operation.UPDATE and operation is not Operation.UPDATE


def is_expired(record: LedgerRecord, now: datetime) -> bool:
    return now >= expires_at(record.at)


def expires_at(at: str) -> datetime:
    """When a record of this time has outlived its lifetime."""
    return parse_time(at) + RECORD_LIFETIME


def waits_until(stay: LedgerStay | None, operation: Operation, now: datetime) -> datetime | None:
    """Until when a pod that has had its turn lets others go first; None if it does not wait. It
    waits only with what was refused before."""
    if stay is None or stay.operation != operation:
        return None
    try:
        since = parse_time(stay.at)
        wait = min(FIRST_WAIT * 2 ** min(max(stay.times, 1) - 1, 10), LONGEST_WAIT)
        until = since + wait
        return until if since <= now + FIRST_WAIT and now < until else None
    except (ValueError, TypeError, OverflowError):
        return None  # not written by Intact


def stays_after(
    known: Mapping[str, LedgerStay],
    stayed: Mapping[str, LedgerRecord],
    is_here: Callable[[str], bool],
    now: datetime,
) -> dict[str, LedgerStay]:
    """The pods that have had their turn, after a recount that has found these records to be of pods
    that stayed. `is_here` says of a UID whether the pod still exists."""
    found = {uid: stay for uid, stay in known.items() if is_here(uid) and _is_recent(stay, now)}
    for uid, record in stayed.items():
        before = found.pop(uid, None)
        again = before is not None and before.operation == record.operation
        times = before.times + 1 if before is not None and again else 1
        found[uid] = LedgerStay(
            operation=record.operation, at=timestamp(now), times=min(times, 100)
        )
    return dict(list(found.items())[-_MOST_STAYS:])


def _is_recent(stay: LedgerStay, now: datetime) -> bool:
    """Whether the next time would be one in a row."""
    try:
        return abs(now - parse_time(stay.at)) < _FORGET_AFTER
    except (ValueError, TypeError, OverflowError):
        return False


def with_shown_pods(status: PubStatus) -> PubStatus:
    """The status with `disruptedPods` and `unavailablePods`, as OpenKruise shows them: the names of
    the recorded pods, and since when."""
    disrupted: dict[str, str] = {}
    updated: dict[str, str] = {}
    for record in status.ledger.pods.values():
        (updated if record.operation == Operation.UPDATE else disrupted)[record.name] = record.at
    return msgspec.structs.replace(status, disrupted_pods=disrupted, unavailable_pods=updated)
