"""The recount: from live counts to the next status of a budget.

Two rules:
- Only the recount clears the ledger. It clears the records of what its own store has seen (the pod
  is gone, is terminating, or its change has ended), and the records that outlived their time.
- A recount looks at pods that are at least as new as those of every earlier recount and record, in
  whichever process. Otherwise a new leader with an older store could count a pod that is gone and
  whose record is cleared already.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from intact.budget.pub import in_place as changes
from intact.budget.pub.counts import Counts
from intact.budget.pub.ledger import Operation, expires_at, is_expired, with_shown_pods
from intact.budget.pub.settings import read_settings, rules_of
from intact.model.amounts import desired_available
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.pub import Ledger, LedgerRecord, PodUnavailableBudget, PubSpec, PubStatus
from intact.model.versions import is_at_least


@dataclass(frozen=True, slots=True)
class Expectation:
    """How many units there should be."""

    total: int | None = None
    """None if some owner does not say how many units it wants: then the units that are there count.
    """
    at_least: int = 0
    """What the owners that do say so want."""
    released: tuple[str, ...] = ()
    """UIDs of owners that want no pods any more."""
    missing: bool = False
    """Some owner has fewer pods than it wants."""
    problem: str = ""
    """Why the total is not known; the budget then allows nothing."""


def is_current(budget: PodUnavailableBudget, seen: str) -> bool:
    """Whether pods as of this version are new enough to recount the budget: not older than those of
    the last recount, nor than any pod that the gate has recorded since. An older store shows the
    previous pod under that pod's name."""
    ledger = budget.status.ledger
    versions = [ledger.seen, *(record.resource_version for record in ledger.pods.values())]
    return is_at_least(seen, versions)


def overdue(
    records: Mapping[str, LedgerRecord], find: Callable[[str], Pod | None], now: datetime
) -> list[Pod]:
    """The pods that, as the store has them, have neither gone nor changed in time.

    `find` returns the pod of a name. The store may be behind, so these pods must be read from the
    API server before their records are cleared.
    """
    pods = []
    for uid, record in records.items():
        pod = find(record.name)
        if pod is None or pod.metadata.uid != uid:
            continue
        if _is_unseen(record, pod) and _is_late(record, pod, now):
            pods.append(pod)
    return pods


def unseen(
    records: Mapping[str, LedgerRecord],
    find: Callable[[str], Pod | None],
    seen: str,
    now: datetime,
    versions: Mapping[str, str],
) -> tuple[dict[str, LedgerRecord], list[str]]:
    """The records that stay, and the names of pods that were to go and did not.

    `find` returns the pod of a name, in the store as of version `seen`. `versions` are the versions
    of the overdue pods, by UID, that were read from the API server: the record of a pod for which
    the store has another version stays.
    """
    kept: dict[str, LedgerRecord] = {}
    stayed: list[str] = []
    for uid, record in records.items():
        pod = find(record.name)
        if pod is None or pod.metadata.uid != uid:
            # Not in the store: gone, unless the store is too old to have seen it come.
            if int(record.resource_version or 0) > int(seen or 0):
                kept[uid] = record
        elif _is_unseen(record, pod):
            is_as_read = versions.get(uid) == pod.metadata.resource_version
            if not (is_as_read and _is_late(record, pod, now)):
                kept[uid] = record
            elif record.operation != Operation.UPDATE:
                stayed.append(record.name)
    return kept, stayed


def _is_unseen(record: LedgerRecord, pod: Pod) -> bool:
    return not is_gone(pod) and _is_waited_for(record, pod, late=False)


def _is_late(record: LedgerRecord, pod: Pod, now: datetime) -> bool:
    return is_expired(record, now) and not _is_waited_for(record, pod, late=True)


def _is_waited_for(record: LedgerRecord, pod: Pod, *, late: bool) -> bool:
    """The recount waits for an update that took place as long as it takes, and for anything else
    only for the lifetime of its record."""
    if not late and (record.operation != Operation.UPDATE or _is_untouched(pod, record)):
        return True
    if changes.is_over(record, pod, late=late):
        return False
    return not late or (bool(record.containers) and changes.has_begun(record, pod))


def _is_untouched(pod: Pod, record: LedgerRecord) -> bool:
    """Whether the pod is as it was when the gate admitted its last change. A change that is over by
    then is an earlier one."""
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
        rules=rules_of(read_settings(budget)),
    )
    status = PubStatus(
        observed_generation=budget.metadata.generation,
        unavailable_allowed=allowed,
        current_available=counts.available,
        desired_available=desired,
        total_replicas=total,
        unavailable_replicas=max(0, total - counts.available),
    )
    return with_shown_pods(status.with_ledger(ledger))


def _total_before(budget: PodUnavailableBudget, expectation: Expectation) -> int:
    """A whole group may go between two recounts: only the earlier total says that it existed."""
    known = budget.status.observed_generation == budget.metadata.generation
    return budget.status.total_replicas if known and expectation.missing else 0


def desired_of(spec: PubSpec, total: int) -> int:
    """How many units must stay available; none if there are none."""
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

    The last status or a record names them. As long as some owner has fewer pods than it wants, the
    missing pods may be theirs; once all owners have their pods, these groups have gone for good.
    """
    if counts.need is None or not expectation.missing:
        return []
    known = [*budget.status.ledger.unavailable_groups]
    known += [record.group for record in records.values() if record.group is not None]
    return [name for name in dict.fromkeys(known) if name not in counts.groups]


def next_expiry(records: Iterable[LedgerRecord], now: datetime) -> datetime | None:
    """When the next record will have outlived its time; None if all have."""
    return min((moment for moment in map(expires_at, records) if moment > now), default=None)
