"""A changed definition marks the budgets that it concerns, and no others."""

import pytest

from intact.budget.pdb.group_sources import Source
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.client import Client
from intact.kube.reflector import Reflector
from intact.kube.store import Key, Store, key_of
from intact.model.meta import LabelSelector
from intact.model.pdb import PdbMeta, PdbSpec, PodDisruptionBudget
from intact.model.scheduling import GroupMeta, PodGroup
from intact.operator.pdb.group_sources import VERSIONS, GroupSources
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.redefinitions import Redefinitions
from intact.operator.pdb.tallies import Tallies
from intact.operator.watch.owners import Workloads
from intact.operator.watch.shared import POD_INDEXES
from intact.sandbox import MemoryApi
from tests.unit.budget.pdb.group_cases import a_pod, a_pod_group

RED = a_pod_group("red", 2)
BUDGET = PodDisruptionBudget(
    metadata=PdbMeta(
        name="b", namespace="ns", uid="b", resource_version="1", labels={SCOPE_LABEL: "Workload"}
    ),
    spec=PdbSpec(selector=LabelSelector()),
)


def moved(group: PodGroup, **meta: str) -> PodGroup:
    known = {"name": group.metadata.name, "namespace": "ns"} | meta
    return PodGroup(metadata=GroupMeta(**known), spec=group.spec)


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        (None, RED, True),
        (RED, a_pod_group("red", 3), True),
        (RED, None, True),
        (RED, moved(RED, deletion_timestamp="2026-01-01T00:00:00Z"), True),
        (RED, moved(RED, resource_version="2"), False),
        (None, a_pod_group("blue", 2), False),
        (RED, moved(RED, namespace="other"), False),
    ],
    ids=["made", "need", "gone", "going", "same spec", "another group", "another namespace"],
)
def test_which_changes_mark_a_budget(
    old: PodGroup | None, new: PodGroup | None, marked: bool
) -> None:
    client = Client(MemoryApi())
    pods, budgets = Store(POD_INDEXES), Store[PodDisruptionBudget]()
    workloads = Workloads(client, pods)
    sources = GroupSources(client, workloads)
    index = PdbIndex(pods, budgets, workloads, Tallies(sources, True, False).make)
    Redefinitions(index, sources)
    served = Reflector(client, VERSIONS[Source.POD_GROUP][0], Store[PodGroup]())
    sources.reflectors[Source.POD_GROUP] = served
    served.store.subscribe(lambda *change: sources.on_change(Source.POD_GROUP, *change))
    pods.put(a_pod("p", "red"))
    budgets.put(BUDGET)
    if old is not None:
        served.store.put(old)
    dirty: list[Key] = []
    index.on_dirty(dirty.append)
    if new is not None:
        served.store.put(new)
    elif old is not None:
        served.store.remove(key_of(old))
    assert dirty == ([("ns", "b")] if marked else [])
