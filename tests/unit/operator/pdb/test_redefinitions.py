"""A changed definition marks the budgets that it concerns, and no others."""

from typing import Any

import msgspec
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
    known: dict[str, Any] = {"name": group.metadata.name, "namespace": "ns", **meta}
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
    scene = Scene(BUDGET)
    scene.pods.put(a_pod("p", "red"))
    if old is not None:
        scene.groups.put(old)
    dirty = scene.dirty()
    if new is not None:
        scene.groups.put(new)
    elif old is not None:
        scene.groups.remove(key_of(old))
    assert dirty == ([("ns", "b")] if marked else [])


class Scene:
    def __init__(self, budget: PodDisruptionBudget) -> None:
        client = Client(MemoryApi())
        self.pods, budgets = Store(POD_INDEXES), Store[PodDisruptionBudget]()
        workloads = Workloads(client, self.pods)
        sources = GroupSources(client, workloads, self.pods)
        self._index = PdbIndex(self.pods, budgets, workloads, Tallies(sources, True, False).make)
        Redefinitions(self._index, sources, self.pods)
        served = Reflector(client, VERSIONS[Source.POD_GROUP][0], Store[PodGroup]())
        sources.reflectors[Source.POD_GROUP] = served
        self.groups = served.store
        self.groups.subscribe(lambda *change: sources.on_change(Source.POD_GROUP, *change))
        budgets.put(budget)

    def dirty(self) -> list[Key]:
        """The budgets that are marked from now on."""
        found: list[Key] = []
        self._index.on_dirty(found.append)
        return found


def test_pods_that_the_budget_does_not_select_mark_it_if_it_counts_their_template() -> None:
    selector = LabelSelector(match_labels={"app": "a"})
    scene = Scene(msgspec.structs.replace(BUDGET, spec=PdbSpec(selector=selector)))
    for name, workload in (("red", "llm"), ("blue", "llm"), ("other", "vision")):
        scene.groups.put(a_pod_group(name, 1, workload))
    scene.pods.put(a_pod("p", "red", labels={"app": "a"}))
    dirty = scene.dirty()
    scene.pods.put(a_pod("x", "other"))
    scene.pods.put(a_pod("y"))
    assert dirty == []
    scene.pods.put(a_pod("z", "blue"))
    assert dirty == [("ns", "b")]
    # How it fares does not matter; that it goes does.
    scene.pods.put(a_pod("z", "blue", ready=False))
    assert dirty == [("ns", "b")]
    scene.pods.remove(("ns", "z"))
    assert dirty == [("ns", "b")] * 2
