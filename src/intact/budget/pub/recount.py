"""The recount: from live counts to the next status of a budget.

Two rules:
- Only the recount clears the ledger. It clears the records of what its own store has seen (the pod
  is gone, is terminating, or its change has ended), and the records that outlived their time.
- A recount looks at pods that are at least as new as those of every earlier recount and record, in
  whichever process. Otherwise a new leader with an older store could count a pod that is gone and
  whose record is cleared already.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from intact.budget.pub import in_place as changes
from intact.budget.pub.counts import Counts
from intact.budget.pub.kept_pods import keep, with_gone
from intact.budget.pub.ledger import Operation, expires_at, is_expired, with_shown_pods
from intact.budget.pub.settings import read_settings, rules_of
from intact.budget.pub.unreadable import problem_of
from intact.model.amounts import MOST_REPLICAS, check_amount, desired_available
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.pub import (
    KeptPods,
    Ledger,
    LedgerRecord,
    LedgerStay,
    PodUnavailableBudget,
    PubSpec,
    PubStatus,
)
from intact.model.times import parse_time
from intact.model.versions import is_at_least, is_before

_NO_OWNER = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """How many units there should be."""

    total: int | None = None
    """In units: what the budget sets, or what owners want whose scale is in groups; None if neither
    says it all."""
    at_least: int = 0
    """In units: what the owners want whose scale is in groups."""
    pods: int = 0
    """What the owners want that say it in pods."""
    silent: tuple[str, ...] = ()
    """UIDs of owners that do not say how many pods they want; an empty one stands for no owner."""
    unsure: Mapping[str, int] = field(default_factory=dict)
    """UIDs of owners of custom kinds whose scale, this number among `pods`, may be in groups."""
    released: tuple[str, ...] = ()
    """UIDs of owners that want no pods any more."""
    scaled_in: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """StatefulSets that have pods with other ordinals than they want, by UID: the first ordinal
    that they want, and the first one after."""
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
) -> tuple[dict[str, LedgerRecord], dict[str, LedgerRecord]]:
    """The records that stay, and those of pods that were to go or to change, and did not.

    `find` returns the pod of a name, in the store as of version `seen`. `versions` are the versions
    of the overdue pods, by UID, that were read from the API server: the record of a pod for which
    the store has another version stays.
    """
    kept: dict[str, LedgerRecord] = {}
    stayed: dict[str, LedgerRecord] = {}
    for uid, record in records.items():
        pod = find(record.name)
        if pod is None or pod.metadata.uid != uid:
            # Not in the store: gone, unless the store is too old to have seen it come.
            if is_before(seen, record.resource_version):
                kept[uid] = record
        elif _is_unseen(record, pod):
            is_as_read = versions.get(uid) == pod.metadata.resource_version
            if not (is_as_read and _is_late(record, pod, now)):
                kept[uid] = record
            elif record.operation != Operation.UPDATE or _is_untouched(pod, record):
                stayed[uid] = record
    return kept, stayed


def untouched(
    records: Mapping[str, LedgerRecord], find: Callable[[str], Pod | None]
) -> frozenset[str]:
    """The UIDs of recorded pods that, as the store has them, neither go nor change yet."""
    found = set()
    for uid, record in records.items():
        pod = find(record.name)
        if pod is None or pod.metadata.uid != uid or is_gone(pod):
            continue
        if not (record.containers and changes.has_begun(record, pod)):
            found.add(uid)
    return frozenset(found)


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
    return bool(version) and not is_before(record.resource_version, version)


@dataclass(frozen=True, slots=True)
class Recount:
    status: PubStatus
    """The next status, without conditions."""
    settled: bool
    """Every owner has the pods that it wants, as far as it says so: groups do not grow any more."""


def recount(
    budget: PodUnavailableBudget,
    counts: Counts,
    expectation: Expectation,
    records: Mapping[str, LedgerRecord],
    seen: str,
    now: datetime,
    stayed: Mapping[str, LedgerStay] | None = None,
    untouched: Collection[str] = (),
) -> Recount:
    """`counts` have these records as their ledger, of which those of the `untouched` pods came to
    nothing so far; `stayed` have had their turn."""
    kept = _kept(budget, counts, expectation, _let_go(budget, records, stayed or {}), now)
    expectation = replace(
        expectation,
        pods=expectation.pods
        + sum(max(0, one.pods - expectation.unsure.get(uid, 0)) for uid, one in kept.items()),
        missing=expectation.missing
        or any(one.pods > counts.owners.get(uid, 0) for uid, one in kept.items()),
    )
    reached = _is_reached(budget, counts, expectation)
    if reached:
        kept = {uid: one for uid, one in kept.items() if uid not in expectation.unsure}
    ledger = Ledger(
        pods=dict(records),
        released=list(expectation.released),
        scaled_in=dict(expectation.scaled_in),
        seen=seen,
        reached=reached,
        kept=kept,
        stayed=dict(stayed or {}),
        rules=rules_of(read_settings(budget)),
    )
    if counts.need is None or (counts.pods and not reached):
        status = _in_pods(budget.spec, counts, expectation)
    else:
        absent = _absent_groups(budget, counts, expectation, records)
        status = _in_groups(budget, counts, expectation, len(absent))
        unavailable = dict.fromkeys([*counts.unavailable_groups, *absent])
        ledger = msgspec.structs.replace(
            ledger,
            unavailable_groups=list(unavailable),
            let_go=[name for name in budget.status.ledger.let_go if name in unavailable],
            held=_held(counts, {uid: records[uid] for uid in untouched if uid in records}),
            surplus=dict(counts.surplus),
        )
    if expectation.problem or problem_of(budget):
        status = msgspec.structs.replace(status, unavailable_allowed=status.ledger.idle)
    status = msgspec.structs.replace(status, observed_generation=budget.metadata.generation)
    ledger = msgspec.structs.replace(ledger, idle=status.ledger.idle)
    return Recount(with_shown_pods(status.with_ledger(ledger)), not expectation.missing)


def _let_go(
    budget: PodUnavailableBudget,
    records: Mapping[str, LedgerRecord],
    stayed: Mapping[str, LedgerStay],
) -> int:
    """How many pods the budget has let go that have gone since the last recount."""
    return sum(
        record.operation != Operation.UPDATE and uid not in records and uid not in stayed
        for uid, record in budget.status.ledger.pods.items()
    )


def _kept(
    budget: PodUnavailableBudget,
    counts: Counts,
    expectation: Expectation,
    let_go: int,
    now: datetime,
) -> dict[str, KeptPods]:
    before, pods = budget.status.ledger.kept, counts.pods_by_owner()
    kept = {}
    is_reached = _is_known(budget) and budget.status.ledger.reached
    # Only a budget in groups that holds pods cannot do with a number of groups.
    unsure = () if counts.need is None or is_reached else expectation.unsure
    for uid in (*expectation.silent, *unsure):
        present = counts.owners.get(uid, 0)
        kept[uid] = keep(before.get(uid), present, pods.get(uid, 0) - present, now)
    if _NO_OWNER in kept and _NO_OWNER not in before and _is_known(budget):
        # Mostly pods that their owner has left behind: those that went meanwhile were among them.
        missing = let_go
        if not is_reached:  # the total is in pods
            others = expectation.pods + sum(one.pods for uid, one in kept.items() if uid)
            missing = budget.status.total_replicas - others - kept[_NO_OWNER].pods
            missing = min(missing, let_go) if others else missing
        kept[_NO_OWNER] = with_gone(kept[_NO_OWNER], missing, now)
    if _NO_OWNER in before and not is_reached and _are_adopted(budget, counts, expectation):
        kept.pop(_NO_OWNER, None)
    return {uid: one for uid, one in kept.items() if one.pods}


def _are_adopted(budget: PodUnavailableBudget, counts: Counts, expectation: Expectation) -> bool:
    """Whether the pods without an owner all have one now, and have not gone: their owners want as
    many as were expected, and have them."""
    none_left = not counts.pods_by_owner().get(_NO_OWNER)
    are_enough = expectation.pods >= budget.status.total_replicas
    return none_left and are_enough and not expectation.missing


def _is_reached(budget: PodUnavailableBudget, counts: Counts, expectation: Expectation) -> bool:
    """Whether some group can have as many pods as it needs, in group mode.

    One that has them proves it, and pods that are lost later do not disprove it. All owners having
    their pods, and none of the groups its need, does.
    """
    if counts.need is None:
        return False
    if counts.has_whole_group:
        return True
    is_settled = counts.groups and not expectation.missing
    return _is_known(budget) and budget.status.ledger.reached and not is_settled


def _is_known(budget: PodUnavailableBudget) -> bool:
    """Whether the last recount was of the present spec."""
    return budget.status.observed_generation == budget.metadata.generation


def _in_pods(spec: PubSpec, counts: Counts, expectation: Expectation) -> PubStatus:
    total = expectation.total
    if total is None:
        total = expectation.pods
    elif counts.need is not None:  # it is in groups
        total = max(total, expectation.pods)
    desired = desired_of(spec, total, pods_per_unit=counts.largest_need if counts.groups else None)
    return _numbers(counts.available_pods, counts.idle_pods, desired, total)


def _in_groups(
    budget: PodUnavailableBudget, counts: Counts, expectation: Expectation, absent: int
) -> PubStatus:
    total = expectation.total
    if total is None:
        seen_units = counts.units + absent
        total = max(seen_units, expectation.at_least, _total_before(budget, expectation))
    desired = desired_of(budget.spec, total)
    return _numbers(counts.available, counts.idle, desired, total)


def _numbers(available: int, idle: int, desired: int, total: int) -> PubStatus:
    """`idle` are the available units that their owners do not want any more: all of them may go.
    No number may be larger than the API takes, whatever a ledger or a spec says."""
    desired, total = min(desired, MOST_REPLICAS), min(total, MOST_REPLICAS)
    return PubStatus(
        unavailable_allowed=max(0, available - desired) + idle,
        current_available=available + idle,
        desired_available=desired,
        total_replicas=total,
        unavailable_replicas=max(0, total - available),
    ).with_ledger(Ledger(idle=idle))


def _total_before(budget: PodUnavailableBudget, expectation: Expectation) -> int:
    """A whole group may go between two recounts: only the earlier total says that it existed."""
    in_groups = _is_known(budget) and budget.status.ledger.reached
    return budget.status.total_replicas if in_groups and expectation.missing else 0


def desired_of(spec: PubSpec, total: int, *, pods_per_unit: int | None = None) -> int:
    """How many units must stay available; none if there are none.

    `pods_per_unit` is for a budget in groups that holds pods: a number of groups that must stay
    available stands for the pods that these groups need.
    """
    if not total:
        return 0
    amounts = (spec.max_unavailable, spec.min_available)
    if any(amount is not None and check_amount(amount) for amount in amounts):
        return total  # a budget that cannot be read holds all
    both = spec.pod_group_policy is not None
    least = spec.min_available
    if isinstance(least, int) and pods_per_unit is not None:
        least = min(least * pods_per_unit, MOST_REPLICAS)
    return desired_available(spec.max_unavailable, least, total, both=both)


def _held(counts: Counts, records: Mapping[str, LedgerRecord]) -> dict[str, str]:
    """The groups that would be available without these records, each with its oldest one's time."""
    found: dict[str, str] = {}
    for name in counts.held_groups(records):
        times = [record.at for uid, record in records.items() if record.group == name]
        if times:
            found[name] = min(times, key=parse_time)
    return found


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
    moments = (expires_at(record.at) for record in records)
    return min((moment for moment in moments if moment > now), default=None)
