"""What a rehearsal has found: plain values, without a clock or a cluster."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec


class Why(StrEnum):
    """Why a pod never goes."""

    BARE = "Bare"
    """It has no controller: `kubectl drain` refuses it without --force."""
    LOCAL_STORAGE = "LocalStorage"
    """It has an emptyDir: `kubectl drain` refuses it without --delete-emptydir-data."""
    TWO_BUDGETS = "TwoBudgets"
    """Two PodDisruptionBudgets cover it, which the API server does not support."""
    NEVER_ALLOWS = "NeverAllows"
    """A budget requires all that there is."""
    NO_ROOM = "NoRoom"
    """Its budget waits for a pod that finds no node."""
    NOT_READY = "NotReady"
    """Its budget waits for pods that do not become ready."""
    NOT_COUNTED = "NotCounted"
    """Its budget covers pods whose number is not known, and so allows nothing."""
    REFUSED = "Refused"
    """Its budget refuses, for another reason: see the message."""
    STAYS = "Stays"
    """Its eviction was granted, and it does not go: a finalizer holds it."""
    FAILED = "Failed"
    """The eviction failed with an error."""


@dataclass(frozen=True, slots=True)
class Going:
    """A pod that goes."""

    at: float
    """Seconds after the start."""
    namespace: str
    pod: str
    node: str
    workload: str
    attempts: int
    """Evictions that were asked for; 0 if a controller deleted it, or the scheduler for another."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    name: str
    begun: float | None
    """Seconds after the start; None if its turn never comes."""
    empty: float | None
    """None if it never is."""
    pods: int
    """That were to go."""
    refusal: str = ""
    """Why `kubectl drain` does not begin with the node."""


@dataclass(frozen=True, slots=True)
class BudgetReport:
    kind: str
    namespace: str
    name: str
    unit: str
    """`pod` or `group`."""
    expected: int
    desired: int
    most_down: int
    most_down_for: float
    """Seconds, altogether."""
    below_desired_for: float
    """Seconds in which fewer units were available than the budget requires."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    namespace: str
    name: str
    breaks: int
    down_for: float
    down: bool
    """At the end."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A pod that never goes."""

    namespace: str
    pod: str
    node: str
    why: Why
    message: str
    budgets: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod that finds no node, in place of one that ran."""

    namespace: str
    pod: str
    workload: str
    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A pod that goes and does not come back, or of which that is not known."""

    namespace: str
    pod: str
    message: str


@dataclass(frozen=True, slots=True)
class StartTime:
    workload: str
    seconds: float
    source: str
    pods: int


@dataclass(frozen=True, slots=True)
class Change:
    """What would differ with Intact, for one budget."""

    budget: str
    plain: BudgetReport
    with_intact: BudgetReport


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same with Intact, and with the budgets over groups counting groups."""

    goes_through: bool
    took: float
    breaks: int
    budgets: list[Change]


@dataclass(frozen=True, slots=True)
class Report:
    action: str
    """`drain`, `upgrade` or `rollout`."""
    intact: bool
    goes_through: bool
    ended: str
    """Why the rehearsal ended: `done`, `still` (nothing can change any more) or `horizon`."""
    took: float
    """Seconds until the last node was empty, the rollout was done, or nothing could change."""
    recovered: float
    """Seconds until everything that can be was ready again."""
    nodes: list[NodeReport]
    pods: list[Going]
    budgets: list[BudgetReport]
    groups: list[GroupReport]
    never: list[Stuck]
    unplaced: list[Unplaced]
    lost: list[Lost]
    start_times: list[StartTime]
    notes: list[str]
    with_intact: Comparison | None = None

    @property
    def breaks(self) -> int:
        return sum(each.breaks for each in self.groups)

    def as_json(self) -> dict[str, Any]:
        """With names as the Kubernetes API has them."""
        found: dict[str, Any] = _camel(msgspec.to_builtins(self))
        found["breaks"] = self.breaks
        return found


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if isinstance(value, float):
        return round(value, 3)
    if not isinstance(value, dict):
        return value
    return {_renamed(key): _camel(each) for key, each in value.items()}


def _renamed(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
