"""Which pods a budget covers, and which unit of it each of them is part of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from intact.budget import label_groups
from intact.budget.pdb.group_settings import GroupSettings, read_settings
from intact.budget.pdb.group_sources import GroupDefinitions, define, reference_of
from intact.budget.pdb.scope import counts_pods
from intact.budget.pub.unreadable import covers_everything
from intact.budget.selectors import Selector, check_selector
from intact.model.meta import LabelSelector, OwnerReference, api_group
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pub import PodUnavailableBudget

PDB = "PodDisruptionBudget"
PUB = "PodUnavailableBudget"


class Unit(NamedTuple):
    """A group, or one pod."""

    name: str
    """Of a group its name; of a pod its UID."""
    need: int
    """Available pods below which it is down."""


Above = Callable[[Pod], Iterable[OwnerReference]]
"""The owners above a pod, nearest first."""
UnitOf = Callable[[Pod], Unit | None]
"""None if the pod is part of no unit, or of one whose need is unknown."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one budget."""

    kind: str
    namespace: str
    name: str
    in_groups: bool
    covers: Callable[[Pod], bool]
    unit_of: UnitOf
    group_of: Callable[[Pod], str | None] = lambda _pod: None
    """The group that a pod names, also if its need is unknown; of budgets that need to know it."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def coverage_of_pdb(budget: PodDisruptionBudget, definitions: GroupDefinitions) -> Coverage:
    """`definitions` are those of the budget's namespace."""
    meta = budget.metadata
    selector = _selector(budget.spec.selector)

    def covers(pod: Pod) -> bool:
        return selector is not None and selector.selects(pod.metadata.labels)

    in_groups = not counts_pods(budget)
    if not in_groups:
        return Coverage(PDB, meta.namespace, meta.name, in_groups, covers, one_pod)
    settings = read_settings(budget)

    def group_of(pod: Pod) -> str | None:
        reference = reference_of(pod, settings)
        return reference.group if reference is not None else None

    unit_of = grouped(settings, definitions)
    return Coverage(PDB, meta.namespace, meta.name, in_groups, covers, unit_of, group_of)


def coverage_of_pub(budget: PodUnavailableBudget, above: Above) -> Coverage:
    meta, spec = budget.metadata, budget.spec
    target, selector = spec.target_ref, _selector(spec.selector)
    everything = covers_everything(budget)

    def covers(pod: Pod) -> bool:
        if everything:
            return True
        if target is None:
            return selector is not None and selector.selects(pod.metadata.labels)
        wanted = (api_group(target.api_version), target.kind, target.name)
        return any(
            (api_group(owner.api_version), owner.kind, owner.name) == wanted for owner in above(pod)
        )

    policy = spec.pod_group_policy
    unit_of: UnitOf = one_pod
    if policy is not None:
        unit_of = labelled(policy.group_label_key, policy.min_ready_replicas)
    return Coverage(PUB, meta.namespace, meta.name, policy is not None, covers, unit_of)


def _selector(given: LabelSelector | None) -> Selector | None:
    return Selector(given) if given is not None and not check_selector(given) else None


def one_pod(pod: Pod) -> Unit:
    return Unit(pod.metadata.uid, 1)


def labelled(key: str, need: int | None) -> UnitOf:
    """Without a need, it is the size of a batch as its pods state it; of other groups it is 1."""

    def unit_of(pod: Pod) -> Unit | None:
        group = label_groups.group_of(pod, key)
        needed = need or (
            label_groups.stated_need(pod, key) if label_groups.is_batch_key(key) else 1
        )
        return Unit(group, needed) if group is not None and needed is not None else None

    return unit_of


def grouped(settings: GroupSettings, definitions: GroupDefinitions) -> UnitOf:
    """By what pods themselves say of their group: a label, a PodGroup, a Workload or a
    LeaderWorkerSet."""

    def unit_of(pod: Pod) -> Unit | None:
        reference = reference_of(pod, settings)
        if reference is None:
            return None
        definition = define(reference, settings, definitions)
        return Unit(reference.group, definition.need) if definition is not None else None

    return unit_of


MOST_LEVELS = 10


def owners_above(
    pod: Pod, references_of: Callable[[OwnerReference], Sequence[OwnerReference]]
) -> Iterator[OwnerReference]:
    """The owners above a pod, nearest first. `references_of` has the owner references of an owner;
    none if it is not known."""
    references: Sequence[OwnerReference] = pod.metadata.owner_references
    for _ in range(MOST_LEVELS):
        owner = next((one for one in references if one.controller), None)
        if owner is None:
            return
        yield owner
        references = references_of(owner)
