"""Draws the picture: budgets with their units, groups, and what covers each pod."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from intact.budget.pdb.annotations import ledger_of
from intact.budget.pdb.disrupted_pods import stands_for
from intact.budget.pdb.group_settings import GroupSettings
from intact.model.group_ledger import GroupLedger
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
from intact.picture.definitions import NamespaceDefinitions, Owners, definitions_of
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
    definitions: Mapping[str, NamespaceDefinitions]
    """By namespace: what defines these groups."""

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
        found: dict[tuple[str, str], list[_Seen]] = defaultdict(list)
        for budget in self.budgets:
            for unit in budget.units:
                if unit.is_group:
                    _add(found[unit.namespace, unit.name], unit, budget)
        seen = [one for _name, known in sorted(found.items()) for one in known]
        counted = {pod.metadata.uid for one in seen for pod in one.unit.pods}
        seen += [_Seen(unit) for unit in self._uncounted(counted)]
        seen.sort(key=lambda one: (one.unit.namespace, one.unit.name))
        return tuple((one.unit, tuple(one.budgets)) for one in seen)

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


@dataclass
class _Seen:
    """A group, and the budgets that count it."""

    unit: UnitPicture
    budgets: list[BudgetPicture] = field(default_factory=list)


def _add(known: list[_Seen], unit: UnitPicture, budget: BudgetPicture) -> None:
    """Two groups of one name are the same if they share a pod: budgets of two applications may
    both number their shards from 0."""
    pods = {pod.metadata.uid for pod in unit.pods}
    for one in known:
        theirs = {pod.metadata.uid for pod in one.unit.pods}
        if pods & theirs or pods == theirs:
            one.budgets.append(budget)
            if (unit.need or 0) > (one.unit.need or 0):
                one.unit = unit
            return
    known.append(_Seen(unit, [budget]))


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
        ledger = pub.status.ledger
        let_go = {uid: record.at for uid, record in ledger.pods.items()}
        units = _units(coverage, covered, let_go, _absent_groups(pub))
        budgets.append(BudgetPicture(pub, coverage, units, objects.intact))
    for pdb in sorted(objects.pdbs, key=_by_name):
        coverage = coverage_of_pdb(pdb, definitions[pdb.metadata.namespace])
        here = pods[coverage.namespace]
        let_go, absent = _ledger(pdb, coverage, here)
        units = _units(coverage, filter(coverage.covers, here), let_go, absent)
        budgets.append(BudgetPicture(pdb, coverage, units, objects.intact))
    return Picture(objects, tuple(budgets), owners, groups_of, definitions)


def _absent_groups(pub: PodUnavailableBudget) -> dict[str, str]:
    """Groups that count as unavailable; those of them that have pods are known without it."""
    return dict.fromkeys(pub.status.ledger.unavailable_groups, "")


def _ledger(
    pdb: PodDisruptionBudget, coverage: Coverage, pods: Iterable[DetailedPod]
) -> tuple[dict[str, str], Mapping[str, str]]:
    """The UIDs of the pods that it has let go and when, and the groups that it expects back."""
    ledger = ledger_of(pdb) if coverage.in_groups else GroupLedger()
    disrupted = pdb.status.disrupted_pods
    let_go = {
        pod.metadata.uid: disrupted[pod.metadata.name]
        for pod in pods
        if pod.metadata.name in disrupted and _stands(pod, pdb, ledger)
    }
    return let_go, ledger.absent


def _stands(pod: DetailedPod, pdb: PodDisruptionBudget, ledger: GroupLedger) -> bool:
    """Whether an entry of disruptedPods is of this very pod, not of an earlier one."""
    name = pod.metadata.name
    try:
        return stands_for(pod, pdb.status.disrupted_pods[name], ledger.pods.get(name))
    except ValueError:  # anyone may write what is no time
        return True


def _units(
    coverage: Coverage,
    covered: Iterable[DetailedPod],
    let_go: Mapping[str, str],
    absent: Mapping[str, str],
) -> tuple[UnitPicture, ...]:
    groups: dict[str, list[DetailedPod]] = defaultdict(list)
    needs: dict[str, int | None] = {}
    singles: list[DetailedPod] = []
    for pod in covered:
        unit = coverage.unit_of(pod) if coverage.in_groups else None
        name = unit.name if unit is not None else coverage.group_of(pod)
        if name is None:
            singles.append(pod)
            continue
        groups[name].append(pod)
        # Pods may disagree for a while: the largest need counts, and an unknown one is unknown.
        before = needs.get(name, 0)
        needs[name] = None if unit is None or before is None else max(unit.need, before)
    namespace = coverage.namespace
    found = [
        unit_picture(namespace, name, needs[name], members, is_group=True, let_go=let_go)
        for name, members in groups.items()
    ]
    found += [
        unit_picture(namespace, pod.metadata.name, 1, [pod], is_group=False, let_go=let_go)
        for pod in singles
    ]
    found += [
        UnitPicture(namespace, name, True, 1, (), 0, since)
        for name, since in absent.items()
        if name not in groups
    ]
    return tuple(sorted(found, key=_longest_down_first))


def _longest_down_first(unit: UnitPicture) -> tuple[bool, bool, str, str]:
    return unit.is_up, not unit.since, unit.since, unit.name


def _by_name(budget: PodUnavailableBudget | PodDisruptionBudget) -> tuple[str, str]:
    return budget.metadata.namespace, budget.metadata.name
