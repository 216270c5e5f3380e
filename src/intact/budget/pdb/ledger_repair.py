"""Repairs what a PodDisruptionBudget that counts groups states and cannot be.

Whoever may edit the budget can write its ledger. Nothing in it may stop a recount, or hold on for
ever.

| stated | if | becomes |
|---|---|---|
| the whole text | it cannot be read | an empty ledger |
| a time, also in disruptedPods | it is no time, or yet to come | now |
| the version of a recorded pod | it is no version, or the server has not reached it | the version that the pod has; none if there is no such pod |
| the version that the last recount saw | the same | the latest that any pod of the namespace has |

All else is counted anew by every recount.
"""  # noqa: E501

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from intact.budget.pdb.annotations import ledger_of, read_ledger
from intact.budget.pdb.group_settings import LEDGER
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pdb import PodDisruptionBudget
from intact.model.times import past_time
from intact.model.versions import Present, is_at_least


@dataclass(frozen=True, slots=True)
class Repaired:
    ledger: GroupLedger
    disrupted: dict[str, str]
    """As `status.disruptedPods`."""
    problems: tuple[str, ...] = ()
    """What was repaired; empty if nothing was."""


def repair(budget: PodDisruptionBudget, now: datetime, present: Present | None = None) -> Repaired:
    """`present` are the pods of the namespace, listed after the budget was read. Without it,
    versions stay as they are: they may be ahead of a store that is behind."""
    ledger, problems = ledger_of(budget), list[str]()
    if LEDGER in budget.metadata.annotations and read_ledger(budget) is None:
        problems.append("it cannot be read")
    disrupted = _past(budget.status.disrupted_pods, "the eviction of pod", now, problems)
    absent = _past(ledger.absent, "the absence of group", now, problems)
    pods, seen = ledger.pods, ledger.seen
    if present is not None:
        pods = {name: _known(name, each, present, problems) for name, each in pods.items()}
        if not is_at_least(present.version, [seen]):
            problems.append(f"pods as of version {seen[:20]!r} were seen, which is yet to come")
            seen = present.latest()
    return Repaired(
        replace(ledger, pods=pods, absent=absent, seen=seen), disrupted, tuple(problems)
    )


def _past(times: dict[str, str], what: str, now: datetime, problems: list[str]) -> dict[str, str]:
    found = {name: past_time(at, now) for name, at in times.items()}
    for name, at in times.items():
        if found[name] != at:
            problems.append(f"{what} {name[:63]} began at {at[:40]!r}, which is not in the past")
    return found


def _known(name: str, record: GroupRecord, present: Present, problems: list[str]) -> GroupRecord:
    if is_at_least(present.version, [record.version]):
        return record
    version = record.version[:20]
    problems.append(f"pod {name[:63]} had version {version!r}, which is yet to come")
    return replace(record, version=present.objects.get(record.uid, ""))
