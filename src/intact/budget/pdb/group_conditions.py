"""The conditions of KEP-5682 on a PodDisruptionBudget that counts groups."""

from collections.abc import Mapping, Sequence

from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_settings import EXPECTED_REPLICAS, read_settings
from intact.budget.pdb.ineffective import ineffective
from intact.budget.pdb.pods import DISRUPTION_ALLOWED, SYNC_FAILED, desired_healthy
from intact.budget.pdb.scope import counts_pods, scope_of
from intact.model.conditions import cut
from intact.model.field_error import FieldError
from intact.model.group_ledger import GroupLedger
from intact.model.listing import listed
from intact.model.meta import Condition
from intact.model.pdb import PdbSpec, PodDisruptionBudget

BUDGET_CONFIGURED = "BudgetConfigured"
SUFFICIENT_REPLICAS = "SufficientReplicas"
INSUFFICIENT_REPLICAS = "InsufficientReplicas"
WORKLOAD_RESOLUTION_FAILED = "WorkloadResolutionFailed"
VALID_CONFIG = "ValidConfig"
MISSING_WORKLOAD_REFERENCE = "MissingWorkloadReference"
MULTIPLE_WORKLOADS_DETECTED = "MultipleWorkloadsDetected"
INVALID_CONFIG = "InvalidConfig"
NEED_NOT_REACHED = "NeedNotReached"
WITHOUT_EFFECT = "WithoutEffect"
NEVER_ALLOWS = "NeverAllows"
GROUPS_NOT_HELD = "GroupsNotHeld"
MISCONFIGURED = (
    MISSING_WORKLOAD_REFERENCE,
    INVALID_CONFIG,
    NEED_NOT_REACHED,
    WITHOUT_EFFECT,
    GROUPS_NOT_HELD,
)
"""The reasons for which BudgetConfigured is False."""
_ANY = 1_000_000_000
"""A number of groups beyond every amount that is meant."""
_MOST_KEYS = 20
"""Keys without effect that a condition names."""


Unproven = Mapping[int, int]
"""Needs that no group has had the pods for, with the pods of the largest such group."""


def disruption_allowed(
    ledger: GroupLedger, counts: GroupCounts, problems: Sequence[FieldError], unproven: Unproven
) -> Condition:
    if problems:
        return _allowed(SYNC_FAILED, _text(problems))
    if counts.undefined:
        return _allowed(WORKLOAD_RESOLUTION_FAILED, undefined_text(counts))
    if ledger.allowed:
        return _allowed(SUFFICIENT_REPLICAS, "", status="True")
    if unproven:
        return _allowed(NEED_NOT_REACHED, unproven_text(unproven))
    return _allowed(INSUFFICIENT_REPLICAS, insufficient_text(ledger))


def insufficient_text(ledger: GroupLedger) -> str:
    """The API server shows it when it refuses an eviction without asking the gate."""
    return available_text(ledger.available, ledger)


def available_text(available: int, ledger: GroupLedger, budget: str = "the budget") -> str:
    """What there is, and what the budget requires."""
    return (
        f"{available} of {ledger.expected} groups are available; {budget} requires {ledger.desired}"
    )


def _allowed(reason: str, message: str, status: str = "False") -> Condition:
    return Condition(type=DISRUPTION_ALLOWED, status=status, reason=reason, message=message)


def undefined_text(counts: GroupCounts) -> str:
    return (
        "it is unknown how many pods these groups need, because their PodGroup, Workload or "
        "LeaderWorkerSet does not exist or has no gang policy: "
        f"{listed(sorted(counts.undefined))}"
    )


def unproven_text(unproven: Unproven) -> str:
    return "; ".join(
        f"groups need {need} pods, and the largest has {largest}: "
        f"nothing of them may go until one has {need}"
        for need, largest in unproven.items()
    )


def never_allows(budget: PodDisruptionBudget, expected: int) -> str:
    """Why no group can ever go while so many are expected; empty if one can."""
    spec, never = budget.spec, "it never allows a disruption"
    if read_settings(budget).expected == 0:
        return f"the annotation {EXPECTED_REPLICAS} says that there should be no groups, so {never}"
    if spec.max_unavailable is None and spec.min_available is None:
        return f"the budget has neither maxUnavailable nor minAvailable, so {never}"
    desired = _desired(spec, expected)
    if expected and desired >= expected:
        return (
            f"the budget requires {desired} groups to be available, of {expected} that there "
            f"should be, so {never}: change it, or scale up"
        )
    if not expected and _desired(spec, _ANY) == _ANY:
        return f"the budget requires all its groups to be available, so {never}: change it"
    return ""


def _desired(spec: PdbSpec, expected: int) -> int:
    """0 where an amount is malformed, which no API server stores and any review may show."""
    try:
        return desired_healthy(spec, expected)
    except ValueError:
        return 0


def is_working(budget: PodDisruptionBudget, counted: GroupLedger | None) -> bool | None:
    """Whether the last recount found that the budget holds its groups as it says; False while its
    present spec has not been counted, None while it has no groups to hold."""
    if counted is None or budget.status.observed_generation < budget.metadata.generation:
        return False
    found = {one.type: one for one in budget.status.conditions}
    configured, allowed = found.get(BUDGET_CONFIGURED), found.get(DISRUPTION_ALLOWED)
    if configured is None:
        return False
    # A key without effect changes nothing about what the budget holds.
    if configured.status != "True" and configured.reason != WITHOUT_EFFECT:
        return False
    if allowed is not None and allowed.reason in (SYNC_FAILED, WORKLOAD_RESOLUTION_FAILED):
        return False
    return True if counted.expected else None


def told_never_allows(budget: PodDisruptionBudget, counted: GroupLedger | None) -> bool:
    """Whether no group can ever go: all that there should be must stay, or the last recount found
    that no group has the pods that it needs."""
    unreached = any(
        one.type == BUDGET_CONFIGURED and one.reason == NEED_NOT_REACHED
        for one in budget.status.conditions
    )
    return unreached or bool(never_allows(budget, counted.expected if counted else 0))


def groups_not_held(budget: PodDisruptionBudget) -> Condition | None:
    """For a process that counts pods only; None if the budget asks for nothing else."""
    if counts_pods(budget):
        return None
    message = (
        f"the budget asks for the scope {scope_of(budget)!r}, but Intact runs without its "
        "controller pdb or without its webhook: the budget counts pods"
    )
    return _configured(GROUPS_NOT_HELD, message, status="False")


def without_effect(told: Sequence[str]) -> Condition:
    return _configured(WITHOUT_EFFECT, "; ".join(told[:_MOST_KEYS]), status="False")


def budget_configured(
    budget: PodDisruptionBudget,
    ledger: GroupLedger,
    counts: GroupCounts,
    problems: Sequence[FieldError],
    unproven: Unproven,
) -> Condition:
    if problems:
        return _configured(INVALID_CONFIG, _text(problems), status="False")
    if counts.unreferenced:
        message = (
            f"The PDB scope is set to '{scope_of(budget)}', but pods are missing the workload "
            "reference"
        )
        # By its field it says what KEP-5682 says, word for word.
        names = listed(sorted(counts.unreferenced.values()))
        message += "." if counts.settings.native else f": {names}"
        return _configured(MISSING_WORKLOAD_REFERENCE, message, status="False")
    if unproven:
        return _configured(NEED_NOT_REACHED, unproven_text(unproven), status="False")
    if told := ineffective(budget):
        return without_effect(told)
    if text := never_allows(budget, ledger.expected):
        return _configured(NEVER_ALLOWS, text)
    if len(counts.workloads) > 1:
        message = (
            "the pods belong to several workloads; the budget counts all their groups together: "
            f"{listed(sorted(counts.workloads))}"
        )
        return _configured(MULTIPLE_WORKLOADS_DETECTED, message)
    return _configured(VALID_CONFIG, "")


def _configured(reason: str, message: str, status: str = "True") -> Condition:
    return Condition(type=BUDGET_CONFIGURED, status=status, reason=reason, message=cut(message))


def _text(problems: Sequence[FieldError]) -> str:
    return "; ".join(str(problem) for problem in problems)
