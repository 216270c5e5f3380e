"""The recount of a PodDisruptionBudget that counts groups: from live counts to its next status.

The fields of the status count pods, as the API server expects it:

| field | pods |
|---|---|
| currentHealthy | healthy pods of groups whose need is known |
| expectedPods | all pods that the budget selects |
| desiredHealthy | the fewest pods that make the desired groups available; while too few groups are, not fewer than are healthy or missing in the groups nearest to their need |
| disruptionsAllowed | those that may go now: healthy pods of unavailable groups where these are free, all surplus, and the needs of as many of the largest available groups as may still go |

The API server takes one from disruptionsAllowed for each evicted pod, and refuses at 0. Which pods
go, the gate decides. Without asking it, the API server lets pods go that are not ready, under
`IfHealthyBudget` only while currentHealthy is at least desiredHealthy: so that this means enough
groups, desiredHealthy is raised above currentHealthy while too few are available.

An API server of KEP-5682 decides by itself, and its status has fields for groups. There the four
numbers are those of the KEP: currentHealthy is all pods that are ready, desiredHealthy the fewest
pods that make the desired groups, disruptionsAllowed the groups that may go.
"""  # noqa: E501

from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from intact.budget.enforcement import Enforcement, enforcement_of
from intact.budget.pdb.disrupted_pods import SETTLED, Standing, past_evictions
from intact.budget.pdb.expected_groups import ABSENT, Wants, expect
from intact.budget.pdb.group_conditions import budget_configured, disruption_allowed
from intact.budget.pdb.group_counts import Counted, GroupCounts
from intact.budget.pdb.group_settings import check_settings, groups_alike, rules_of
from intact.budget.pdb.group_sources import Definitions
from intact.budget.pdb.pods import DELETION_TIMEOUT, desired_healthy
from intact.budget.pdb.replica_fields import with_replicas
from intact.model.amounts import MOST_REPLICAS
from intact.model.conditions import merge
from intact.model.field_error import FieldError
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.pdb import PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.times import parse_time
from intact.model.versions import is_at_least

ALWAYS_ALLOW = "AlwaysAllow"
LEAVING = timedelta(seconds=30)
"""How long a budget stays closed for a change that takes its scope away, and does not come."""


@dataclass(frozen=True, slots=True)
class Recounted:
    status: PdbStatus
    ledger: GroupLedger
    forgotten_groups: tuple[str, ...]
    """Vanished groups that the live counts need not remember any longer."""
    forgotten_evictions: tuple[str, ...]
    """Names of evicted pods that the live counts need not remember any longer."""


def is_current(ledger: GroupLedger, seen: str) -> bool:
    """Whether a store as of version `seen` is new enough: not older than what the last recount
    counted, nor than what any gate has looked at since."""
    versions = [ledger.seen, *(record.version for record in ledger.pods.values())]
    return is_at_least(seen, versions)


def recount(
    budget: PodDisruptionBudget,
    before: GroupLedger,
    counts: GroupCounts,
    definitions: Definitions,
    standing: Standing,
    now: datetime,
    wants: Wants,
    *,
    native: bool = False,
) -> Recounted:
    """`before` is the stored ledger; an empty one if the budget has none of its own. `native` says
    whether the API server itself decides."""
    seen = str(counts.version)
    counted = counts.without(standing.recorded)
    leaving = _still_leaving(before, now)
    if not groups_alike(budget, before):
        before = GroupLedger(
            pods={name: replace(record, group="") for name, record in before.pods.items()}
        )
    groups = expect(before, counts, definitions, now, wants)
    problems = check_settings(budget)
    total = min(groups.total, MOST_REPLICAS)
    try:
        desired = desired_healthy(budget.spec, total)
    except ValueError as error:  # no API server that we know stores such an amount
        desired = 0
        problems.append(FieldError("spec", None, str(error)))
    allowed = max(0, counted.available - desired)
    closed = bool(problems or counts.undefined or leaving)
    if closed or not total or not _has_amount(budget.spec):
        allowed = 0
    proven = set(counts.reached)
    if before.rules == rules_of(budget):
        proven |= counts.needs_of_all().keys() & set(before.proven)
    unproven = {} if native else counts.unproven(proven)
    unavailable = {
        group: healthy
        for group, healthy in counted.unavailable.items()
        if not unproven or counts.need_of(group) not in unproven
    }
    ledger = GroupLedger(
        pods={name: before.pods.get(name, GroupRecord(version=seen)) for name in standing.kept},
        unavailable=unavailable,
        let_go={group: counts.unready(group) for group in before.let_go if group in unavailable},
        surplus=counted.surplus,
        needs=counted.needs,
        proven=sorted(proven),
        absent=groups.absent,
        allowed=allowed,
        available=counted.available,
        desired=desired,
        expected=total,
        leaving=leaving,
        seen=seen,
        rules=rules_of(budget),
    )
    status = PdbStatus(
        observed_generation=budget.metadata.generation,
        disruptions_allowed=_stated(budget, ledger, counts, closed=closed),
        current_healthy=counted.healthy,
        desired_healthy=_desired_pods(desired, counts, counted),
        expected_pods=counts.pods,
        disrupted_pods=standing.kept,
        conditions=merge(
            budget.status.conditions,
            (
                disruption_allowed(ledger, counts, problems, unproven),
                budget_configured(budget, ledger, counts, problems, unproven),
            ),
            budget.metadata.generation,
            now,
        ),
    )
    if native:
        status = _in_groups(status, ledger, counts, standing)
    return Recounted(
        status, ledger, groups.forgotten, past_evictions(counts.evicted, standing.kept, now)
    )


def _in_groups(
    status: PdbStatus, ledger: GroupLedger, counts: GroupCounts, standing: Standing
) -> PdbStatus:
    """The same in the units of KEP-5682."""
    return with_replicas(
        replace(
            status,
            disruptions_allowed=ledger.allowed,
            current_healthy=counts.ready_without(standing.recorded),
            desired_healthy=_fewest_pods(ledger.desired, counts),
        ),
        allowed=ledger.allowed,
        healthy=ledger.available,
        desired=ledger.desired,
        expected=ledger.expected,
    )


def _still_leaving(before: GroupLedger, now: datetime) -> str:
    """When the budget was closed, if the change that it was closed for may still come."""
    try:
        since = parse_time(before.leaving)
        return before.leaving if since - LEAVING <= now < since + LEAVING else ""
    except (ValueError, TypeError, OverflowError):  # anyone may write to an annotation
        return ""


def _stated(
    budget: PodDisruptionBudget, ledger: GroupLedger, counts: GroupCounts, *, closed: bool
) -> int:
    """What the API server may let go without a refusal of its own. Where denials are not enforced,
    that is every pod; the ledger and the counters of groups say what the budget would allow."""
    if ledger.leaving:
        return 0
    if not is_enforced(budget):
        return max(1, counts.pods)
    return 0 if closed else may_go(budget.spec, ledger)


def is_enforced(budget: PodDisruptionBudget) -> bool:
    return enforcement_of(budget.metadata.annotations) is Enforcement.ENFORCE


def _has_amount(spec: PdbSpec) -> bool:
    return spec.max_unavailable is not None or spec.min_available is not None


def is_free(spec: PdbSpec, ledger: GroupLedger, group: str, available: int) -> bool:
    """Whether the pods of an unavailable group go without cost while so many groups are
    available."""
    return (
        spec.unhealthy_pod_eviction_policy == ALWAYS_ALLOW
        or available >= ledger.desired
        or group in ledger.let_go
    )


def may_go(spec: PdbSpec, ledger: GroupLedger) -> int:
    """How many pods may go now."""
    pods = sum(ledger.surplus.values())
    pods += sum(
        number
        for group, number in ledger.unavailable.items()
        if is_free(spec, ledger, group, ledger.available)
    )
    if ledger.available < ledger.desired:
        # While enough groups are available, the API server does not ask for these.
        pods += sum(ledger.let_go.values())
    groups = ledger.allowed
    for need in sorted(ledger.needs, reverse=True):
        taken = min(groups, ledger.needs[need])
        pods += taken * need
        groups -= taken
    return pods


def _desired_pods(desired: int, counts: GroupCounts, counted: Counted) -> int:
    fewest = _fewest_pods(desired, counts)
    short = desired - counted.available
    if short <= 0 or fewest == MOST_REPLICAS:
        return fewest
    missing = sorted(
        (counts.need_of(group) or 0) - healthy for group, healthy in counted.unavailable.items()
    )
    needed = counted.healthy + sum(missing[:short]) + max(0, short - len(missing))
    return min(max(fewest, needed), MOST_REPLICAS)


def _fewest_pods(desired: int, counts: GroupCounts) -> int:
    """The fewest that make so many groups available, or as many as the API takes for a number. A
    group that does not exist yet is taken to need as few pods as the smallest one."""
    needs = counts.needs_of_all()
    least = min(needs, default=counts.settings.min_ready or 1)
    pods = 0
    for need in sorted(needs):
        taken = min(desired, needs[need])
        pods += taken * need
        desired -= taken
    return min(pods + desired * least, MOST_REPLICAS)


def next_check(status: PdbStatus, ledger: GroupLedger, now: datetime) -> datetime | None:
    """When time alone ends something: an absent group, or an entry of disruptedPods."""
    moments = [parse_time(ledger.leaving) + LEAVING] if ledger.leaving else []
    moments += [parse_time(since) + ABSENT for since in ledger.absent.values()]
    for at in status.disrupted_pods.values():
        moments += [parse_time(at) + SETTLED, parse_time(at) + DELETION_TIMEOUT]
    return min((moment for moment in moments if moment > now), default=None)
