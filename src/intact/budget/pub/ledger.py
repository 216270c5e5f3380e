"""The ledger's records: disruptions that the gate has admitted and no recount has seen happen yet.

Three rules:
- A record stands for one pod, by its UID: a StatefulSet's pod comes back under the same name.
- A record has a lifetime. It begins anew whenever the gate renews the record; once it is over, the
  recount may give the unit back.
- A renewed record never says less than the one before it: an admitted deletion stays a deletion,
  and containers that were to restart stay marked.

| the record | the gate is asked again | the record is |
|---|---|---|
| of a deletion or an eviction, younger than `RENEW_AFTER` | for either | left as it is |
| of a deletion or an eviction, older | for either | renewed |
| of an update | for anything | renewed |
| any | for an update | renewed: what the pod waits for has changed |

Only the record of a deletion is sure to be in the stored ledger still, however old this copy of the
budget is: nothing clears it but the end of the pod, or of its lifetime. The record of an update may
be cleared by now, so it must be written again.
"""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from intact.model.pub import ContainerMark, Ledger, LedgerRecord, PubStatus
from intact.model.times import parse_time, timestamp_after

RECORD_LIFETIME = timedelta(seconds=30)
"""How long an admitted operation may take to be seen. After it the unit is given back."""
RENEW_AFTER = timedelta(seconds=10)
"""The age from which a record is renewed if its pod is asked for again."""


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
    # An admitted deletion may come at any moment, whatever else is asked for.
    operation = new.operation if known.operation == Operation.UPDATE else known.operation
    marks = known.containers | _marked_again(known.containers, new.containers)
    return msgspec.structs.replace(new, operation=operation, containers=marks)


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


def stands(record: LedgerRecord, operation: Operation, now: datetime) -> bool:
    """Whether a pod with this record may be asked for again with nothing written."""
    is_sure = record.operation != Operation.UPDATE and now - parse_time(record.at) < RENEW_AFTER
    return is_sure and operation is not Operation.UPDATE


def is_expired(record: LedgerRecord, now: datetime) -> bool:
    return now - parse_time(record.at) >= RECORD_LIFETIME


def expires_at(record: LedgerRecord) -> datetime:
    return parse_time(record.at) + RECORD_LIFETIME


def with_shown_pods(status: PubStatus) -> PubStatus:
    """The status with `disruptedPods` and `unavailablePods`, as OpenKruise shows them: the names of
    the recorded pods, and since when."""
    disrupted: dict[str, str] = {}
    updated: dict[str, str] = {}
    for record in status.ledger.pods.values():
        (updated if record.operation == Operation.UPDATE else disrupted)[record.name] = record.at
    return msgspec.structs.replace(status, disrupted_pods=disrupted, unavailable_pods=updated)
