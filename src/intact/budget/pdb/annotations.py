"""What Intact writes into the annotations of a PodDisruptionBudget, beside its status.

Every budget that Intact counts gets the counters of KEP-5682. One that counts groups gets its
ledger as well.
"""

import msgspec

from intact.budget.pdb.group_settings import LEDGER, REPLICAS, is_of
from intact.budget.pdb.scope import asks_by_field
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget

COUNTERS = (
    "disruptionsAllowedReplicas",
    "currentHealthyReplicas",
    "desiredHealthyReplicas",
    "expectedReplicas",
)
"""Of KEP-5682."""
_LEDGER = msgspec.json.Decoder(GroupLedger)


def replicas_text(*, allowed: int, healthy: int, desired: int, expected: int) -> str:
    """The counters of KEP-5682, in the unit of the budget."""
    counters = dict(zip(COUNTERS, (allowed, healthy, desired, expected), strict=True))
    return msgspec.json.encode(counters).decode()


def annotations_of(ledger: GroupLedger) -> dict[str, str]:
    """Of a budget that counts groups."""
    replicas = replicas_text(
        allowed=ledger.allowed,
        healthy=ledger.available,
        desired=ledger.desired,
        expected=ledger.expected,
    )
    return {REPLICAS: replicas, LEDGER: msgspec.json.encode(ledger).decode()}


def read_ledger(budget: PodDisruptionBudget) -> GroupLedger | None:
    """None if the budget has none, or the annotation holds anything else."""
    try:
        return _LEDGER.decode(budget.metadata.annotations.get(LEDGER, ""))
    except (msgspec.DecodeError, RecursionError):  # nested too deeply to be read
        return None


def counters_of(budget: PodDisruptionBudget) -> GroupLedger | None:
    """The numbers of a budget that counts groups, from where they are: the fields of KEP-5682, or
    the ledger. None if it was not counted yet."""
    if not asks_by_field(budget) or budget.status.expected_replicas is None:
        return read_ledger(budget)
    status = budget.status
    return GroupLedger(
        allowed=status.disruptions_allowed_replicas or 0,
        available=status.current_healthy_replicas or 0,
        desired=status.desired_healthy_replicas or 0,
        expected=status.expected_replicas or 0,
    )


def ledger_of(budget: PodDisruptionBudget) -> GroupLedger:
    """The ledger that was written for this very budget, whatever its rules were; else an empty one:
    annotations may have been copied from another budget."""
    found = read_ledger(budget)
    return found if found is not None and is_of(budget, found) else GroupLedger()
