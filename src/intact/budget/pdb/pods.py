"""The arithmetic of a PodDisruptionBudget that counts pods, as Kubernetes' own controller does it.

| spec | expectedPods | desiredHealthy |
|---|---|---|
| minAvailable: n | pods selected | n |
| minAvailable: p% | what the controllers of the pods want | p% of expectedPods, rounded up |
| maxUnavailable: n | what the controllers of the pods want | expectedPods - n, at least 0 |
| maxUnavailable: p% | what the controllers of the pods want | expectedPods - p% of it, likewise |
| neither | 0 | 0 |

disruptionsAllowed = currentHealthy - desiredHealthy; 0 if that is negative, or nothing is expected.

A pod whose eviction the API server has allowed is listed in disruptedPods, by name. It does not
count as healthy until two minutes have passed: then it was not evicted after all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from intact.budget.pdb.replica_fields import replicas_of
from intact.model.amounts import MOST_REPLICAS, IntOrPercent, desired_available
from intact.model.conditions import merge
from intact.model.meta import Condition
from intact.model.pdb import PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.times import parse_time, past_time

DELETION_TIMEOUT = timedelta(minutes=2)
"""How long an eviction that was allowed may take to be seen."""
DISRUPTION_ALLOWED = "DisruptionAllowed"
SUFFICIENT_PODS = "SufficientPods"
INSUFFICIENT_PODS = "InsufficientPods"
SYNC_FAILED = "SyncFailed"


@dataclass(frozen=True, slots=True)
class Disrupted:
    """The entries of disruptedPods, looked at again."""

    kept: dict[str, str]
    """Names and times of pods that are still expected to go."""
    pods: tuple[Pod, ...]
    """The same pods."""
    overdue: tuple[Pod, ...]
    """Pods that did not go in time."""
    next_check: datetime | None
    """When the first of the kept entries is overdue."""


def needs_controllers(spec: PdbSpec) -> bool:
    """Whether the budget depends on how many pods the controllers of its pods want."""
    return spec.max_unavailable is not None or isinstance(spec.min_available, str)


def desired_healthy(spec: PdbSpec, expected: int) -> int:
    """Raises ValueError if an amount is malformed."""
    return desired_available(
        _plain(spec.max_unavailable), _plain(spec.min_available), expected, both=False
    )


def _plain(amount: IntOrPercent | None) -> IntOrPercent | None:
    """Kubernetes takes a percentage with zeros in front, any number of them."""
    if isinstance(amount, str) and amount.startswith("0"):
        return amount.lstrip("0").rjust(len("0%"), "0")
    return amount


def look_again(
    disrupted: Mapping[str, str], find: Callable[[str], Pod | None], now: datetime
) -> Disrupted:
    """`find` returns the pod that an entry means, or None if it is gone or not covered any more."""
    kept: dict[str, str] = {}
    pods: list[Pod] = []
    overdue: list[Pod] = []
    next_check: datetime | None = None
    for name, at in disrupted.items():
        pod = find(name)
        if pod is None or is_terminating(pod):
            continue
        kept_at = past_time(at, now)
        expires = parse_time(kept_at) + DELETION_TIMEOUT
        if expires < now:
            overdue.append(pod)
            continue
        kept[name] = kept_at
        pods.append(pod)
        next_check = expires if next_check is None else min(next_check, expires)
    return Disrupted(kept, tuple(pods), tuple(overdue), next_check)


def count(
    budget: PodDisruptionBudget,
    *,
    healthy: int,
    expected: int,
    disrupted: dict[str, str],
    now: datetime,
) -> PdbStatus:
    """The next status. Raises ValueError if an amount is malformed."""
    expected = min(expected, MOST_REPLICAS)  # which several scales together may exceed
    desired = desired_healthy(budget.spec, expected)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    old, generation = budget.status, budget.metadata.generation
    condition = Condition(
        type=DISRUPTION_ALLOWED,
        status="True" if allowed else "False",
        reason=SUFFICIENT_PODS if allowed else INSUFFICIENT_PODS,
    )
    return PdbStatus(
        observed_generation=generation,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        disrupted_pods=disrupted,
        conditions=merge(old.conditions, [condition], generation, now),
    )


def fail_safe(budget: PodDisruptionBudget, problem: str, now: datetime) -> PdbStatus:
    """Nothing may be evicted while the budget cannot be counted; all else stays as it was."""
    old = budget.status
    condition = Condition(
        type=DISRUPTION_ALLOWED,
        status="False",
        reason=SYNC_FAILED,
        message=problem,
    )
    conditions = merge(old.conditions, [condition], old.observed_generation, now)
    return msgspec.structs.replace(old, disruptions_allowed=0, conditions=conditions)


def is_up_to_date(old: PdbStatus, new: PdbStatus) -> bool:
    """Whether a write would say nothing new."""
    return (
        old.current_healthy == new.current_healthy
        and old.desired_healthy == new.desired_healthy
        and old.expected_pods == new.expected_pods
        and old.disruptions_allowed == new.disruptions_allowed
        and old.observed_generation == new.observed_generation
        and old.disrupted_pods == new.disrupted_pods
        and replicas_of(old) == replicas_of(new)
        and _verdict(old) == _verdict(new)
    )


def _verdict(status: PdbStatus) -> tuple[str, str, str]:
    for one in status.conditions:
        if one.type == DISRUPTION_ALLOWED:
            # Only the message tells one failure from another.
            return one.status, one.reason, one.message if one.reason == SYNC_FAILED else ""
    return "", "", ""
