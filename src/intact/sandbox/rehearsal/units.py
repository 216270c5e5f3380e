"""The units that the budgets of a rehearsed cluster count, read past its API."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from intact.budget.pdb.group_settings import GroupSettings
from intact.model.meta import OwnerReference
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pub import PodUnavailableBudget
from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.picture.coverage import (
    Coverage,
    UnitOf,
    coverage_of_pdb,
    coverage_of_pub,
    grouped,
    owners_above,
)
from intact.sandbox.api.objects import Json
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.owners import Owners

PDBS = "poddisruptionbudgets.policy"
PUBS = "podunavailablebudgets.policy.kruise.io"
_POD_GROUPS = "podgroups.scheduling.k8s.io"
_WORKLOADS = "workloads.scheduling.k8s.io"
_LEADER_WORKER_SETS = "leaderworkersets.leaderworkerset.x-k8s.io"
T = TypeVar("T")


def budgets_in(api: MemoryApi, *, pubs: bool) -> Iterator[Coverage]:
    """`pubs`: whether PodUnavailableBudgets are held; only Intact holds them."""
    for obj in api.objects(PDBS):
        pdb = msgspec.convert(obj, PodDisruptionBudget)
        yield coverage_of_pdb(pdb, _Definitions(api, pdb.metadata.namespace))
    if pubs and any(kind.full_name == PUBS for kind in api.kinds()):
        for obj in api.objects(PUBS):
            pub = _read(obj)
            if pub is not None:
                yield coverage_of_pub(pub, _above(api))


def _read(obj: Json) -> PodUnavailableBudget | None:
    try:
        return msgspec.convert(obj, PodUnavailableBudget)
    except msgspec.ValidationError:
        return None  # it holds everything, and counts nothing


def _above(api: MemoryApi) -> Callable[[Pod], Iterator[OwnerReference]]:
    owners = Owners(api)

    def above(pod: Pod) -> Iterator[OwnerReference]:
        def references_of(owner: OwnerReference) -> Sequence[OwnerReference]:
            found = owners.find(msgspec.to_builtins(owner), pod.metadata.namespace)
            given = found["metadata"].get("ownerReferences") if found is not None else None
            return msgspec.convert(given or [], list[OwnerReference])

        return owners_above(pod, references_of)

    return above


def groups_in(api: MemoryApi, namespace: str) -> UnitOf:
    """The groups that pods themselves tell of."""
    return grouped(GroupSettings(), _Definitions(api, namespace))


class _Definitions:
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
