"""Whether a role's own update strategy can work on its kind of workload.

It has two names: `updateStrategy`, and upstream's `rolloutStrategy`. Upstream ignores `maxSurge` of
a StatefulSet, and its manifests have it: so it is refused under the first name only.
"""

from collections.abc import Iterator

from intact.model.amounts import IntOrPercent, check_amount
from intact.model.field_error import FieldError
from intact.model.rbg import DEPLOYMENT, STATEFUL_SET, Role, RoleRollingUpdate

GRAMMAR = "must be a number from 0 on, or a percentage from 0% to 100%"


def strategy_field(role: Role) -> str:
    """The name under which the role has its strategy."""
    return "updateStrategy" if role.update_strategy is not None else "rolloutStrategy"


def rolling_of(role: Role) -> RoleRollingUpdate:
    strategy = role.strategy
    return (strategy.rolling_update if strategy else None) or RoleRollingUpdate()


def is_paused(role: Role) -> bool:
    """Only the upstream strategy can say so."""
    rolling = role.rollout_strategy.rolling_update if role.rollout_strategy else None
    return rolling is not None and rolling.paused


def strategy_errors(role: Role, path: str) -> Iterator[FieldError]:
    if role.update_strategy is not None and role.rollout_strategy is not None:
        message = "is upstream's name of updateStrategy: set only one of the two"
        yield FieldError(f"{path}.rolloutStrategy", None, message)
    rolling = rolling_of(role)
    at = f"{path}.{strategy_field(role)}.rollingUpdate"
    amounts = {
        "maxUnavailable": rolling.max_unavailable,
        "maxSurge": rolling.max_surge,
        "partition": rolling.partition,
    }
    for name, amount in amounts.items():
        if amount is not None and check_amount(amount):
            yield FieldError(f"{at}.{name}", amount, GRAMMAR)
    ours = role.update_strategy is not None
    if ours and rolling.max_surge is not None and role.kind == STATEFUL_SET:
        message = "a StatefulSet cannot run more pods than replicas"
        yield FieldError(f"{at}.maxSurge", rolling.max_surge, message)
    if rolling.partition is not None and role.kind == DEPLOYMENT:
        message = "the pods of a Deployment have no order, so a partition has no meaning"
        if ours or rolling.partition not in (0, "0%"):
            yield FieldError(f"{at}.partition", rolling.partition, message)


def standstill_errors(role: Role, path: str) -> Iterator[FieldError]:
    """A strategy by which no replica could ever be updated: the workload would be refused. Only
    nothing at all counts: controllers read a small percentage as one replica."""
    rolling = rolling_of(role)
    if not _is_nothing(rolling.max_unavailable):
        return
    at = f"{path}.{strategy_field(role)}.rollingUpdate.maxUnavailable"
    given = rolling.max_unavailable
    if role.kind == STATEFUL_SET:
        message = "must be at least 1: a StatefulSet takes a pod down before it makes another"
        yield FieldError(at, given, message)
    elif _is_nothing(rolling.max_surge) or (rolling.max_surge is None and role.kind != DEPLOYMENT):
        surge = "0 by default" if rolling.max_surge is None else rolling.max_surge
        message = f"must be at least 1 while maxSurge is {surge}: no replica could be updated"
        yield FieldError(at, given, message)


def _is_nothing(amount: IntOrPercent | None) -> bool:
    return amount in (0, "0", "0%")
