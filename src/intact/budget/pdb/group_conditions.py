"""The conditions of KEP-5682 on a PodDisruptionBudget that counts groups."""

from collections.abc import Sequence

from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.pods import DISRUPTION_ALLOWED, SYNC_FAILED
from intact.budget.pdb.scope import scope_of
from intact.model.field_error import FieldError
from intact.model.group_ledger import GroupLedger
from intact.model.listing import listed
from intact.model.meta import Condition
from intact.model.pdb import PodDisruptionBudget

BUDGET_CONFIGURED = "BudgetConfigured"
SUFFICIENT_REPLICAS = "SufficientReplicas"
INSUFFICIENT_REPLICAS = "InsufficientReplicas"
WORKLOAD_RESOLUTION_FAILED = "WorkloadResolutionFailed"
VALID_CONFIG = "ValidConfig"
MISSING_WORKLOAD_REFERENCE = "MissingWorkloadReference"
MULTIPLE_WORKLOADS_DETECTED = "MultipleWorkloadsDetected"
INVALID_CONFIG = "InvalidConfig"


def disruption_allowed(
    ledger: GroupLedger, counts: GroupCounts, problems: Sequence[FieldError]
) -> Condition:
    if problems:
        return _allowed(SYNC_FAILED, _text(problems))
    if counts.undefined:
        return _allowed(WORKLOAD_RESOLUTION_FAILED, undefined_text(counts))
    if ledger.allowed:
        return _allowed(SUFFICIENT_REPLICAS, "", status="True")
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


def budget_configured(
    budget: PodDisruptionBudget, counts: GroupCounts, problems: Sequence[FieldError]
) -> Condition:
    if problems:
        return _configured(INVALID_CONFIG, _text(problems), status="False")
    if counts.unreferenced:
        message = (
            f"The PDB scope is set to '{scope_of(budget)}', but pods are missing the workload "
            f"reference: {listed(sorted(counts.unreferenced.values()))}"
        )
        return _configured(MISSING_WORKLOAD_REFERENCE, message, status="False")
    if len(counts.workloads) > 1:
        message = (
            "the pods belong to several workloads; the budget counts all their groups together: "
            f"{listed(sorted(counts.workloads))}"
        )
        return _configured(MULTIPLE_WORKLOADS_DETECTED, message)
    return _configured(VALID_CONFIG, "")


def _configured(reason: str, message: str, status: str = "True") -> Condition:
    return Condition(type=BUDGET_CONFIGURED, status=status, reason=reason, message=message)


def _text(problems: Sequence[FieldError]) -> str:
    return "; ".join(str(problem) for problem in problems)
