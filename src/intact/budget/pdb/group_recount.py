"""The recount of a PodDisruptionBudget that counts groups: from live counts to its next status.

currentHealthy, expectedPods and disruptedPods count pods; desiredHealthy is the fewest pods that
make the groups desired. disruptionsAllowed is, for a server that takes one for each pod and refuses
at none, the pods that may go now: all healthy ones of unavailable groups, all surplus, and the
needs of as many of the largest available groups as may still go. Which ones, the gate decides.

Only the recount clears disruptedPods. An entry names a pod, and stands for whoever had that name
when it was made: the pod that the gate knew, or any that is not younger than the entry.

| the pod of that name | its entry stays |
|---|---|
| there, and not going | two minutes: then it was not evicted after all |
| was seen to go by an eviction, not before the entry was made | no longer |
| younger than the entry | no longer |
| gone, going or finished for another reason; another one of the same age | for a while, in case that it is the younger one that is being evicted |
"""  # noqa: E501

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from intact.budget.pdb.expected_groups import ABSENT, Wants, expect
from intact.budget.pdb.group_conditions import budget_configured, disruption_allowed
from intact.budget.pdb.group_counts import GroupCounts, Seen
from intact.budget.pdb.group_settings import check_settings, groups_alike, rules_of
from intact.budget.pdb.group_sources import Definitions
from intact.budget.pdb.pods import DELETION_TIMEOUT, desired_healthy
from intact.model.conditions import merge
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pdb import PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.times import parse_time

SETTLED = timedelta(seconds=10)
"""After so long the server has surely deleted what it was allowed to evict."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The entries of disruptedPods, looked at again."""

    kept: dict[str, str]
    """Names and times."""
    recorded: tuple[str, ...]
    """UIDs of the pods that they stand for."""
    overdue: tuple[Pod, ...]
    """Pods that did not go."""


@dataclass(frozen=True, slots=True)
class Recounted:
    status: PdbStatus
    ledger: GroupLedger


def read_ledger(text: str) -> GroupLedger | None:
    """None if there is none, or somebody has written something else."""
    try:
        return _LEDGER.decode(text)
    except msgspec.DecodeError:
        return None


_LEDGER = msgspec.json.Decoder(GroupLedger)


def stands_for(pod: Pod, at: str, record: GroupRecord | None) -> bool:
    """Whether the pod that has the name now may be the one that an entry means."""
    if record is not None and record.uid == pod.metadata.uid:
        return True
    created = pod.metadata.creation_timestamp
    return not created or parse_time(created) <= parse_time(at)


def recorded_uids(
    disrupted: Mapping[str, str], ledger: GroupLedger | None, find: Callable[[str], Pod | None]
) -> list[str]:
    """The pods that must not be counted on."""
    records = ledger.pods if ledger is not None else {}
    pods = ((find(name), at, records.get(name)) for name, at in disrupted.items())
    return [pod.metadata.uid for pod, at, record in pods if pod and stands_for(pod, at, record)]


def look_again(
    disrupted: Mapping[str, str],
    ledger: GroupLedger,
    find: Callable[[str], Pod | None],
    evicted: Mapping[str, Seen],
    now: datetime,
    is_fresh: Callable[[Pod], bool] = lambda _pod: True,
) -> Standing:
    """`evicted` are pods that were seen to go by an eviction. `is_fresh` says whether a pod is
    still as the store has it: if the store is behind, nothing is overdue."""
    kept: dict[str, str] = {}
    overdue: list[Pod] = []
    for name, at in disrupted.items():
        pod, record = find(name), ledger.pods.get(name)
        if _was_seen(evicted.get(name), record, at):
            continue
        if pod is not None and not stands_for(pod, at, record):
            continue
        if pod is None or is_gone(pod) or (record and record.uid != pod.metadata.uid):
            if now < parse_time(at) + SETTLED:
                kept[name] = at
        elif now < parse_time(at) + DELETION_TIMEOUT or not is_fresh(pod):
            kept[name] = at
        else:
            overdue.append(pod)
    return Standing(kept, tuple(recorded_uids(kept, ledger, find)), tuple(overdue))


def _was_seen(seen: Seen | None, record: GroupRecord | None, at: str) -> bool:
    """That the very pod that was recorded went, and not for an earlier entry."""
    if seen is None or record is None or seen.uid != record.uid:
        return False
    return parse_time(seen.at) >= parse_time(at)


def is_current(ledger: GroupLedger, seen: str) -> bool:
    """Whether a store as of this version is new enough: not older than what the last recount has
    counted, nor than what any gate has looked at since."""
    versions = [ledger.seen, *(record.version for record in ledger.pods.values())]
    return seen.isdigit() and int(seen) >= max(int(version or 0) for version in versions)


def recount(
    budget: PodDisruptionBudget,
    before: GroupLedger,
    counts: GroupCounts,
    definitions: Definitions,
    standing: Standing,
    now: datetime,
    wants: Wants,
) -> Recounted:
    """`before` is the ledger that is stored, empty if there is none for this budget."""
    seen = str(counts.version)
    counted = counts.without(standing.recorded)
    if not groups_alike(budget, before):
        before = GroupLedger(
            pods={name: replace(record, group="") for name, record in before.pods.items()}
        )
    expected, absent = expect(before, counts, definitions, now, wants)
    problems = check_settings(budget)
    desired = desired_healthy(budget.spec, expected)
    allowed = max(0, counted.available - desired)
    closed = bool(problems or counts.undefined)
    if closed or not expected or not _has_amount(budget.spec):
        allowed = 0
    ledger = GroupLedger(
        pods={name: before.pods.get(name, GroupRecord(version=seen)) for name in standing.kept},
        unavailable=counted.unavailable,
        surplus=counted.surplus,
        needs=counted.needs,
        absent=absent,
        allowed=allowed,
        available=counted.available,
        desired=desired,
        expected=expected,
        seen=seen,
        rules=rules_of(budget),
    )
    status = PdbStatus(
        observed_generation=budget.metadata.generation,
        disruptions_allowed=0 if closed else may_go(ledger),
        current_healthy=counted.healthy,
        desired_healthy=_fewest_pods(desired, counts),
        expected_pods=counts.pods,
        disrupted_pods=standing.kept,
        conditions=merge(
            budget.status.conditions,
            (
                disruption_allowed(ledger, counts, problems),
                budget_configured(budget, counts, problems),
            ),
            budget.metadata.generation,
            now,
        ),
    )
    return Recounted(status, ledger)


def _has_amount(spec: PdbSpec) -> bool:
    return spec.max_unavailable is not None or spec.min_available is not None


def may_go(ledger: GroupLedger) -> int:
    """The pods that may go now, all taken together."""
    pods = sum(ledger.unavailable.values()) + sum(ledger.surplus.values())
    groups = ledger.allowed
    for need in sorted(ledger.needs, reverse=True):
        taken = min(groups, ledger.needs[need])
        pods += taken * need
        groups -= taken
    return pods


def _fewest_pods(desired: int, counts: GroupCounts) -> int:
    """That make so many groups available. Groups that are not there need what the least need."""
    needs = counts.needs_of_all()
    least = min(needs, default=counts.settings.min_ready or 1)
    pods = 0
    for need in sorted(needs):
        taken = min(desired, needs[need])
        pods += taken * need
        desired -= taken
    return pods + desired * least


def next_check(status: PdbStatus, ledger: GroupLedger, now: datetime) -> datetime | None:
    """When something is over without anybody saying so."""
    moments = [parse_time(since) + ABSENT for since in ledger.absent.values()]
    for at in status.disrupted_pods.values():
        moments += [parse_time(at) + SETTLED, parse_time(at) + DELETION_TIMEOUT]
    return min((moment for moment in moments if moment > now), default=None)
