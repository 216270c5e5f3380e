"""Draws the picture: budgets with their units, groups, and what covers each pod."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from intact.budget.pdb.annotations import ledger_of
from intact.budget.pdb.group_settings import GroupSettings
from intact.model.meta import OwnerReference
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod, Pod
from intact.model.pod_state import is_finished
from intact.model.pub import PodUnavailableBudget
from intact.picture.budgets import BudgetPicture
from intact.picture.coverage import (
    Coverage,
    UnitOf,
    coverage_of_pdb,
    coverage_of_pub,
    grouped,
)
from intact.picture.definitions import Owners, definitions_of
from intact.picture.objects import Objects
from intact.picture.units import UnitPicture, unit_picture


@dataclass(frozen=True)
class Picture:
    objects: Objects
    budgets: tuple[BudgetPicture, ...]
    """By namespace and name, PodUnavailableBudgets first."""
    owners: Owners
    groups_of: Mapping[str, UnitOf]
    """By namespace: the groups that pods themselves tell of, also if no budget counts them."""

    def covering(self, pod: Pod) -> list[BudgetPicture]:
        """The budgets of a pod."""
        found = self._by_namespace.get(pod.metadata.namespace, ())
        return [one for one in found if one.coverage.covers(pod)]

    def above(self, pod: Pod) -> Iterator[OwnerReference]:
        """The owners above a pod, nearest first."""
        return self.owners.above(pod)

    @cached_property
    def groups(self) -> tuple[tuple[UnitPicture, tuple[BudgetPicture, ...]], ...]:
        """All groups, each with the budgets that count it; by namespace and name. Of budgets that
        see the same group differently, the need of the strictest is shown."""
        found: dict[tuple[str, str], tuple[UnitPicture, list[BudgetPicture]]] = {}
        for budget in self.budgets:
            for unit in budget.units:
                if not unit.is_group:
                    continue
                key = (unit.namespace, unit.name)
                known = found.setdefault(key, (unit, []))
                known[1].append(budget)
                if (unit.need or 0) > (known[0].need or 0):
                    found[key] = (unit, known[1])
        counted = {pod.metadata.uid for unit, _budgets in found.values() for pod in unit.pods}
        for unit in self._uncounted(counted):
            found.setdefault((unit.namespace, unit.name), (unit, []))
        return tuple((unit, tuple(budgets)) for _key, (unit, budgets) in sorted(found.items()))

    def _uncounted(self, counted: set[str]) -> Iterator[UnitPicture]:
        """Groups that no budget counts."""
        pods: dict[tuple[str, str, int], list[DetailedPod]] = defaultdict(list)
        for pod in self.objects.pods:
            if pod.metadata.uid in counted or is_finished(pod):
                continue
            unit = self.groups_of[pod.metadata.namespace](pod)
            if unit is not None:
                pods[pod.metadata.namespace, unit.name, unit.need].append(pod)
        for (namespace, name, need), members in pods.items():
            yield unit_picture(namespace, name, need, members, is_group=True)

    @cached_property
    def _by_namespace(self) -> dict[str, list[BudgetPicture]]:
        found: dict[str, list[BudgetPicture]] = defaultdict(list)
        for one in self.budgets:
            found[one.namespace].append(one)
        return dict(found)


def draw(objects: Objects) -> Picture:
    definitions, owners = definitions_of(objects), Owners(objects)
    pods: dict[str, list[DetailedPod]] = defaultdict(list)
    for pod in objects.pods:
        if not is_finished(pod):
            pods[pod.metadata.namespace].append(pod)
    groups_of = {
        namespace: grouped(GroupSettings(), definitions[namespace])
        for namespace in {pod.metadata.namespace for pod in objects.pods}
    }
    budgets: list[BudgetPicture] = []
    for pub in sorted(objects.pubs, key=_by_name):
        coverage = coverage_of_pub(pub, owners.above)
        covered = filter(coverage.covers, pods[coverage.namespace])
        units = _units(coverage, covered, frozenset(pub.status.ledger.pods), ())
        budgets.append(BudgetPicture(pub, coverage, units, objects.intact))
    for pdb in sorted(objects.pdbs, key=_by_name):
        coverage = coverage_of_pdb(pdb, definitions[pdb.metadata.namespace])
        covered = filter(coverage.covers, pods[coverage.namespace])
        recorded, absent = _ledger(pdb, coverage)
        units = _units(coverage, covered, recorded, absent)
        budgets.append(BudgetPicture(pdb, coverage, units, objects.intact))
    return Picture(objects, tuple(budgets), owners, groups_of)


def _ledger(pdb: PodDisruptionBudget, coverage: Coverage) -> tuple[frozenset[str], Iterable[str]]:
    """The UIDs of the pods that it has let go, and the groups that it expects back."""
    if not coverage.in_groups:
        return frozenset(), ()
    ledger = ledger_of(pdb)
    return frozenset(record.uid for record in ledger.pods.values()), ledger.absent


def _units(
    coverage: Coverage,
    covered: Iterable[DetailedPod],
    recorded: frozenset[str],
    absent: Iterable[str],
) -> tuple[UnitPicture, ...]:
    groups: dict[str, list[DetailedPod]] = defaultdict(list)
    needs: dict[str, int] = {}
    singles: list[DetailedPod] = []
    for pod in covered:
        unit = coverage.unit_of(pod) if coverage.in_groups else None
        if unit is None:
            singles.append(pod)
        else:
            groups[unit.name].append(pod)
            needs[unit.name] = max(unit.need, needs.get(unit.name, 0))
    namespace = coverage.namespace
    found = [
        unit_picture(namespace, name, needs[name], members, is_group=True, recorded=recorded)
        for name, members in groups.items()
    ]
    found += [
        unit_picture(namespace, pod.metadata.name, 1, [pod], is_group=False, recorded=recorded)
        for pod in singles
    ]
    found += [UnitPicture(namespace, name, True, 1, (), 0) for name in absent if name not in groups]
    return tuple(sorted(found, key=lambda one: (one.is_up, one.since, one.name)))


def _by_name(budget: PodUnavailableBudget | PodDisruptionBudget) -> tuple[str, str]:
    return budget.metadata.namespace, budget.metadata.name
