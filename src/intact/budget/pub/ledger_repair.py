"""Repairs a ledger that states what cannot be: nothing in it may stop a recount, or hold for ever.

The ledger is a text that others can write. After a restore from a backup it may also come from a
process that had not noticed yet.

| stated | if | becomes |
|---|---|---|
| the whole text | it cannot be read | an empty ledger |
| a time | it is no time, or yet to come | now |
| an operation | it is unknown | a deletion |
| the version of a recorded pod | it is no version, or the server has not reached it | the version that the pod has; the record goes if there is no such pod |
| the version that the last recount saw | the same | the latest that any pod of the namespace has |

All else is counted anew by every recount.
"""  # noqa: E501

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from intact.budget.pub.ledger import Operation
from intact.model.pub import UNREADABLE, Ledger, LedgerRecord
from intact.model.times import past_time
from intact.model.versions import Present, is_at_least


@dataclass(frozen=True, slots=True)
class Repaired:
    ledger: Ledger
    problems: tuple[str, ...] = ()
    """What was repaired; empty if nothing was."""


def repair(ledger: Ledger, now: datetime, present: Present | None = None) -> Repaired:
    """`present` are the pods of the namespace, listed after the ledger was read. Without it,
    versions stay as they are: they may be ahead of a store that is behind."""
    if ledger is UNREADABLE:
        return Repaired(Ledger(), ("it cannot be read",))
    problems: list[str] = []
    pods: dict[str, LedgerRecord] = {}
    for uid, record in ledger.pods.items():
        kept = _repair(uid, record, now, present, problems)
        if kept is not None:
            pods[uid] = kept
    seen = ledger.seen
    if present is not None and not is_at_least(present.version, [seen]):
        problems.append(f"pods as of version {seen[:20]!r} were seen, which is yet to come")
        seen = present.latest()
    if not problems:
        return Repaired(ledger)
    return Repaired(replace(ledger, pods=pods, seen=seen), tuple(problems))


def _repair(
    uid: str, record: LedgerRecord, now: datetime, present: Present | None, problems: list[str]
) -> LedgerRecord | None:
    name, version = record.name[:63], record.resource_version
    if present is not None and not is_at_least(present.version, [version]):
        problems.append(f"pod {name} had version {version[:20]!r}, which is yet to come")
        if uid not in present.objects:
            return None
        record = replace(record, resource_version=present.objects[uid])
    at = past_time(record.at, now)
    if at != record.at:
        problems.append(f"pod {name} was recorded at {record.at[:40]!r}, which is not in the past")
        record = replace(record, at=at)
    if record.operation not in set(Operation):
        problems.append(f"pod {name} was recorded for {record.operation[:20]!r}")
        record = replace(record, operation=Operation.DELETE)
    return record
