"""The recount: from live counts to the next status of a budget.

Two rules:
- Only the recount clears the ledger, and only of what its own store has seen: the pod is gone, is
  terminating, or has come to the end of its change; or of a record that outlived its time.
- A recount looks at pods that are at least as new as those of every recount and every record
  before it, whoever made that. Otherwise a new leader with an older store could count a pod that
  is gone, and whose record is cleared already.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from intact.budget.pub import in_place as changes
from intact.budget.pub.counts import Counts
from intact.budget.pub.decision import Operation, expires_at, is_expired, written_out
from intact.model.amounts import desired_available
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.pub import Ledger, LedgerRecord, PodUnavailableBudget, PubSpec, PubStatus
from intact.model.versions import is_at_least


@dataclass(frozen=True, slots=True)
class Expectation:
    """How many units there should be."""

    total: int | None = None
    """None if nobody says so of all: then what is there counts."""
    at_least: int = 0
    """What some owners want, if not all say so."""
    released: tuple[str, ...] = ()
    """Owners that want no pods any more."""
    missing: bool = False
    """Some owner has fewer pods than it wants."""
    problem: str = ""
    """Why the total is not known; the budget then allows nothing."""


def is_current(budget: PodUnavailableBudget, seen: str) -> bool:
    """Whether pods as of this version are new enough to recount the budget: not older than at the
    last recount, nor than any pod that has been recorded since. What an older store shows under
    that pod's name is what was there before."""
    ledger = budget.status.ledger
    versions = [ledger.seen, *(record.resource_version for record in ledger.pods.values())]
    return is_at_least(seen, versions)


def unseen(
    records: Mapping[str, LedgerRecord],
    find: Callable[[str], Pod | None],
    seen: str,
    now: datetime,
    is_fresh: Callable[[Pod], bool] = lambda _pod: True,
) -> tuple[dict[str, LedgerRecord], list[str]]:
    """The records that stay, and the names of pods that did not go in time.

    `find` returns the pod of a name, in the store as of version `seen`. `is_fresh` says whether a
    pod is still as the store has it: if the store is behind, nothing is overdue.
    """
    kept: dict[str, LedgerRecord] = {}
    overdue: list[str] = []
    for uid, record in records.items():
        pod = find(record.name)
        if pod is None or pod.metadata.uid != uid:
            # Not in the store: gone, unless the store is too old to have seen it come.
            if int(record.resource_version or 0) > int(seen or 0):
                kept[uid] = record
            continue
        if is_gone(pod):
            continue
        if _is_waited_for(record, pod, late=False):
            late = is_expired(record, now) and not _is_waited_for(record, pod, late=True)
            if not late or not is_fresh(pod):
                kept[uid] = record
            elif record.operation != Operation.UPDATE:
                overdue.append(record.name)
    return kept, overdue


def _is_waited_for(record: LedgerRecord, pod: Pod, *, late: bool) -> bool:
    """An update that took place is waited for as long as it takes, anything else for a while."""
    if not late and (record.operation != Operation.UPDATE or _is_untouched(pod, record)):
        return True
    if changes.is_over(record, pod, late=late):
        return False
    return not late or (bool(record.containers) and changes.has_begun(record, pod))


def _is_untouched(pod: Pod, record: LedgerRecord) -> bool:
    """Whether the pod is as it was when its last change was admitted: what is over then, is an
    earlier one."""
    version = pod.metadata.resource_version
    return bool(version) and int(version) <= int(record.resource_version or 0)


def recount(
    budget: PodUnavailableBudget,
    counts: Counts,
    expectation: Expectation,
    records: Mapping[str, LedgerRecord],
    seen: str,
) -> PubStatus:
    """The next status, without conditions. `counts` have these records as their ledger."""
    absent = _absent_groups(budget, counts, expectation, records)
    total = expectation.total
    if total is None:
        seen_units = counts.units + len(absent)
        total = max(seen_units, expectation.at_least, _total_before(budget, expectation))
    desired = desired_of(budget.spec, total)
    allowed = 0 if expectation.problem else max(0, counts.available - desired)
    ledger = Ledger(
        pods=dict(records),
        unavailable_groups=[*counts.unavailable_groups, *absent],
        surplus=dict(counts.surplus),
        released=list(expectation.released),
        seen=seen,
    )
    status = PubStatus(
        observed_generation=budget.metadata.generation,
        unavailable_allowed=allowed,
        current_available=counts.available,
        desired_available=desired,
        total_replicas=total,
        unavailable_replicas=max(0, total - counts.available),
    )
    return written_out(status.with_ledger(ledger))


def _total_before(budget: PodUnavailableBudget, expectation: Expectation) -> int:
    """A group may go between two recounts, and only the number says that there was one more."""
    known = budget.status.observed_generation == budget.metadata.generation
    return budget.status.total_replicas if known and expectation.missing else 0


def desired_of(spec: PubSpec, total: int) -> int:
    """How many units must stay available. Of nothing, nothing has to."""
    if not total:
        return 0
    both = spec.pod_group_policy is not None
    return desired_available(spec.max_unavailable, spec.min_available, total, both=both)


def _absent_groups(
    budget: PodUnavailableBudget,
    counts: Counts,
    expectation: Expectation,
    records: Mapping[str, LedgerRecord],
) -> list[str]:
    """Groups without a single pod that are still expected back.

    They are known from the last status, or from a record. As long as some owner has fewer pods than
    it wants, they may be what is missing; once all owners have their pods, they are history.
    """
    if counts.need is None or not expectation.missing:
        return []
    known = [*budget.status.ledger.unavailable_groups]
    known += [record.group for record in records.values() if record.group is not None]
    return [name for name in dict.fromkeys(known) if name not in counts.groups]


def next_expiry(records: Iterable[LedgerRecord], now: datetime) -> datetime | None:
    """When the next record outlives its time; None if none will."""
    return min((moment for moment in map(expires_at, records) if moment > now), default=None)
