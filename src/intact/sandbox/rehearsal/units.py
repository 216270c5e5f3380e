"""The units that budgets count: which pods a budget covers, and which of them are one unit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from intact.budget.label_groups import group_of, is_batch_key, stated_need
from intact.budget.pdb.group_settings import GroupSettings, read_settings
from intact.budget.pdb.group_sources import define, reference_of
from intact.budget.pdb.scope import counts_pods
from intact.budget.selectors import Selector, check_selector
from intact.model.meta import LabelSelector, api_group
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pub import PodUnavailableBudget
from intact.model.scheduling import ControllerReference, GangWorkload, LeaderWorkerSet, PodGroup
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.owners import Owners

PDBS = "poddisruptionbudgets.policy"
PUBS = "podunavailablebudgets.policy.kruise.io"
_POD_GROUPS = "podgroups.scheduling.k8s.io"
_WORKLOADS = "workloads.scheduling.k8s.io"
_LEADER_WORKER_SETS = "leaderworkersets.leaderworkerset.x-k8s.io"
T = TypeVar("T")


class Unit(NamedTuple):
    name: str
    need: int
    """Available pods below which it is down."""


UnitOf = Callable[[Pod], Unit | None]


@dataclass(frozen=True, slots=True)
class Budget:
    kind: str
    namespace: str
    name: str
    in_groups: bool
    covers: Callable[[Pod, Json], bool]
    unit_of: UnitOf

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def budgets_in(api: MemoryApi, *, pubs: bool) -> Iterator[Budget]:
    """`pubs`: whether PodUnavailableBudgets are held; only Intact holds them."""
    for obj in api.objects(PDBS):
        yield _pdb(api, obj)
    if pubs and any(kind.full_name == PUBS for kind in api.kinds()):
        for obj in api.objects(PUBS):
            found = _pub(api, obj)
            if found is not None:
                yield found


def _pdb(api: MemoryApi, obj: Json) -> Budget:
    budget = msgspec.convert(obj, PodDisruptionBudget)
    meta = budget.metadata
    selector = _selector(budget.spec.selector)

    def covers(pod: Pod, _obj: Json) -> bool:
        return selector is not None and selector.selects(pod.metadata.labels)

    in_groups = not counts_pods(budget)
    unit_of = grouped(api, meta.namespace, read_settings(budget)) if in_groups else one_pod
    return Budget("PodDisruptionBudget", meta.namespace, meta.name, in_groups, covers, unit_of)


def _pub(api: MemoryApi, obj: Json) -> Budget | None:
    try:
        budget = msgspec.convert(obj, PodUnavailableBudget)
    except msgspec.ValidationError:
        return None  # it holds everything, and counts nothing
    meta, spec = budget.metadata, budget.spec
    target, selector = spec.target_ref, _selector(spec.selector)
    owners = Owners(api)

    def covers(pod: Pod, given: Json) -> bool:
        if target is None:
            return selector is not None and selector.selects(pod.metadata.labels)
        wanted = (api_group(target.api_version), target.kind, target.name)
        return any(
            (api_group(owner["apiVersion"]), owner["kind"], owner["name"]) == wanted
            for owner in owners.above(given)
        )

    policy = spec.pod_group_policy
    unit_of: UnitOf = one_pod
    if policy is not None:
        unit_of = labelled(policy.group_label_key, policy.min_ready_replicas)
    kind = "PodUnavailableBudget"
    return Budget(kind, meta.namespace, meta.name, policy is not None, covers, unit_of)


def _selector(given: LabelSelector | None) -> Selector | None:
    return Selector(given) if given is not None and not check_selector(given) else None


def one_pod(pod: Pod) -> Unit:
    return Unit(pod.metadata.uid, 1)


def labelled(key: str, need: int | None) -> UnitOf:
    """Without a need, it is the size of a batch as its pods state it; of other groups it is 1."""

    def unit_of(pod: Pod) -> Unit | None:
        group = group_of(pod, key)
        needed = need or (stated_need(pod, key) if is_batch_key(key) else 1)
        return Unit(group, needed) if group is not None and needed is not None else None

    return unit_of


def grouped(api: MemoryApi, namespace: str, settings: GroupSettings) -> UnitOf:
    """By what pods themselves say of their group: a label, a PodGroup, a Workload or a
    LeaderWorkerSet."""
    definitions = _Definitions(api, namespace)

    def unit_of(pod: Pod) -> Unit | None:
        reference = reference_of(pod, settings)
        if reference is None:
            return None
        definition = define(reference, settings, definitions)
        return Unit(reference.group, definition.need) if definition is not None else None

    return unit_of


class _Definitions:
    """Read past the API. What only a recount asks for is not needed here."""

    def __init__(self, api: MemoryApi, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._served = {kind.full_name for kind in api.kinds()}

    def pod_group(self, name: str) -> PodGroup | None:
        return self._find(_POD_GROUPS, name, PodGroup)

    def workload(self, name: str) -> GangWorkload | None:
        return self._find(_WORKLOADS, name, GangWorkload)

    def leader_worker_set(self, name: str) -> LeaderWorkerSet | None:
        return self._find(_LEADER_WORKER_SETS, name, LeaderWorkerSet)

    def _find(self, full_name: str, name: str, view: type[T]) -> T | None:
        if full_name not in self._served:
            return None
        found = self._api.peek(full_name, self._namespace, name)
        return msgspec.convert(found, view) if found is not None else None

    def pod_groups_of(self, workload: str, template: str) -> list[str]:
        raise NotImplementedError

    def has_pods(self, pod_group: str) -> bool:
        raise NotImplementedError

    def leaders_of(self, leader_worker_set: str) -> list[Pod]:
        raise NotImplementedError

    def scale_of(self, controller: ControllerReference) -> int | None:
        raise NotImplementedError
