"""What goes together: the pods of a group that stand on any of the drained nodes, or one pod.

The group of a pod is the first of: that of a budget which covers it and counts groups; the one that
the pod itself tells of; none, and then the pod is a unit of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from intact.budget.enforcement import Enforcement
from intact.budget.pub.availability import is_available
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod
from intact.picture.budgets import BudgetPicture
from intact.picture.coverage import PUB
from intact.picture.picture import Picture
from intact.picture.units import UnitPicture

UnitKey = tuple[str, str, str]
"""Namespace, `group` or `pod`, and the name of the group or the UID of the pod."""
BudgetKey = tuple[str, str, str]
"""Kind, namespace and name."""


def key_of(budget: BudgetPicture) -> BudgetKey:
    return budget.kind, budget.namespace, budget.name


def holds(budget: BudgetPicture) -> bool:
    """Whether the server can refuse anything in its name."""
    if budget.kind == PUB and budget.intact is False:
        return False
    return budget.enforcement is Enforcement.ENFORCE


def counts_groups(budget: BudgetPicture) -> bool:
    """Whether the numbers of the budget, as the server goes by them, are of groups. Without Intact,
    Kubernetes counts pods."""
    return budget.in_groups and budget.intact is not False


def allowed(budget: BudgetPicture) -> int:
    """Groups or pods that its numbers allow to go now."""
    if isinstance(budget.budget, PodDisruptionBudget) and not counts_groups(budget):
        return budget.budget.status.disruptions_allowed
    return budget.allowed


@dataclass(frozen=True, slots=True)
class DrainUnit:
    key: UnitKey
    group: str
    """Its name; empty for a pod of its own."""
    pods: tuple[DetailedPod, ...]
    """Those that are to go, first those that nobody misses."""
    budgets: tuple[BudgetPicture, ...]
    """Those that can hold one of its pods."""
    free: int
    """How many of the pods may go without that it breaks: all if it is down."""

    @property
    def namespace(self) -> str:
        return self.key[0]

    @property
    def name(self) -> str:
        return self.group or self.pods[0].metadata.name

    @property
    def is_free(self) -> bool:
        """Whether a pod may go without that it breaks, or nothing holds it."""
        return not self.budgets or self.free > 0

    @property
    def goes_as_one(self) -> bool:
        """Whether all its pods can be asked for at once, and none goes without the others: nothing
        holds it, or only budgets that count it as a group, and whose numbers allow it."""
        return all(
            self.group and counts_groups(one) and (self.free == len(self.pods) or allowed(one) > 0)
            for one in self.budgets
        )

    @property
    def costs(self) -> dict[BudgetKey, int]:
        """What it takes of each budget to break it."""
        serving = max(1, sum(map(is_available, self.pods)))
        return {key_of(one): 1 if counts_groups(one) else serving for one in self.budgets}


def all_units(pictures: Mapping[str, Picture], pods: Iterable[DetailedPod]) -> list[DrainUnit]:
    """Of pods that are to go, in several namespaces."""
    by_namespace: dict[str, list[DetailedPod]] = {}
    for pod in pods:
        by_namespace.setdefault(pod.metadata.namespace, []).append(pod)
    return [
        unit for name, found in by_namespace.items() for unit in drain_units(pictures[name], found)
    ]


def drain_units(picture: Picture, pods: Iterable[DetailedPod]) -> list[DrainUnit]:
    """Of pods that are to go, all in the namespace of the picture."""
    members: dict[UnitKey, list[DetailedPod]] = {}
    budgets: dict[UnitKey, dict[BudgetKey, BudgetPicture]] = {}
    seen: dict[UnitKey, UnitPicture | None] = {}
    for pod in pods:
        covering = picture.covering(pod)
        key, unit = _unit_of(picture, pod, covering)
        members.setdefault(key, []).append(pod)
        seen.setdefault(key, unit)
        held = {key_of(one): one for one in covering if holds(one)}
        budgets.setdefault(key, {}).update(held)
    told = _Told(picture)
    return [
        _unit(key, found, tuple(budgets[key].values()), seen[key] or told.get(key))
        for key, found in members.items()
    ]


def _unit_of(
    picture: Picture, pod: DetailedPod, covering: list[BudgetPicture]
) -> tuple[UnitKey, UnitPicture | None]:
    namespace = pod.metadata.namespace
    for budget in covering:
        unit = budget.unit_of(pod) if budget.in_groups else None
        if unit is not None and unit.is_group:
            return (namespace, "group", unit.name), unit
    told = picture.groups_of[namespace](pod) if namespace in picture.groups_of else None
    if told is not None:
        return (namespace, "group", told.name), None
    return (namespace, "pod", pod.metadata.uid), None


class _Told:
    """The groups that no budget counts, looked at only if there is one."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._found: Mapping[tuple[str, str], UnitPicture] | None = None

    def get(self, key: UnitKey) -> UnitPicture | None:
        if key[1] != "group":
            return None
        if self._found is None:
            groups = self._picture.groups
            self._found = {(unit.namespace, unit.name): unit for unit, _budgets in groups}
        return self._found.get((key[0], key[2]))


def _unit(
    key: UnitKey,
    pods: list[DetailedPod],
    budgets: tuple[BudgetPicture, ...],
    seen: UnitPicture | None,
) -> DrainUnit:
    ordered = sorted(pods, key=lambda pod: (is_available(pod), pod.metadata.name))
    idle = sum(not is_available(pod) for pod in ordered)
    free = idle
    if seen is not None:
        spare = seen.available - (seen.need or 0)
        free = len(pods) if not seen.is_up else min(len(pods), idle + max(0, spare))
    group = key[2] if key[1] == "group" else ""
    return DrainUnit(key, group, tuple(ordered), budgets, free)
