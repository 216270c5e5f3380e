"""The index of PodDisruptionBudgets: what is kept equals what a count from scratch finds."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from intact.budget.pdb.pod_counts import PodCounts, is_healthy
from intact.budget.selectors import Selector
from intact.kube.client import Client
from intact.kube.store import Store
from intact.model.meta import LabelSelector, LabelSelectorRequirement, OwnerReference
from intact.model.pdb import PdbMeta, PdbSpec, PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod, PodCondition, PodMeta, PodStatus
from intact.operator.pdb.index import PdbIndex
from intact.operator.watch.owners import Workloads
from intact.operator.watch.shared import POD_INDEXES
from intact.sandbox import MemoryApi

SELECTORS: list[LabelSelector | None] = [
    None,
    LabelSelector(),
    LabelSelector(match_labels={"app": "a"}),
    LabelSelector(match_labels={"app": "a", "tier": "x"}),
    LabelSelector(
        match_expressions=[LabelSelectorRequirement(key="app", operator="In", values=["a", "b"])]
    ),
    LabelSelector(
        match_expressions=[LabelSelectorRequirement(key="app", operator="NotIn", values=["a"])]
    ),
    LabelSelector(match_expressions=[LabelSelectorRequirement(key="tier", operator="Exists")]),
    LabelSelector(match_expressions=[LabelSelectorRequirement(key="app", operator="Nonsense")]),
]
LABELS: list[dict[str, str]] = [
    {},
    {"app": "a"},
    {"app": "b"},
    {"app": "a", "tier": "x"},
    {"tier": "y"},
]
OWNERS = ["", "o1", "o2"]

pods = st.builds(
    lambda name, ns, uid, labels, owner, ready, terminating, phase: Pod(
        metadata=PodMeta(
            name=name,
            namespace=ns,
            uid=f"{ns}-{name}-{uid}",
            labels=labels,
            deletion_timestamp="t" if terminating else None,
            owner_references=[
                OwnerReference(
                    api_version="apps/v1",
                    kind="StatefulSet",
                    name=owner,
                    uid=owner,
                    controller=True,
                )
            ]
            if owner
            else [],
        ),
        status=PodStatus(phase=phase, conditions=[PodCondition(type="Ready", status=ready)]),
    ),
    st.sampled_from(["p", "q", "r", "s"]),
    st.sampled_from(["ns", "other"]),
    st.integers(0, 1),
    st.sampled_from(LABELS),
    st.sampled_from(OWNERS),
    st.sampled_from(["True", "False"]),
    st.booleans(),
    st.sampled_from(["Pending", "Running", "Succeeded"]),
)
Step = tuple[str, Any]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), pods),
        st.tuples(st.just("gone"), st.sampled_from([("ns", "p"), ("ns", "q"), ("other", "p")])),
        st.tuples(
            st.just("budget"),
            st.tuples(
                st.sampled_from(["b1", "b2", "b3"]),
                st.integers(0, 1),
                st.sampled_from(SELECTORS),
                st.sampled_from([None, "x"]),
            ),
        ),
        st.tuples(st.just("no budget"), st.sampled_from(["b1", "b2", "b3"])),
    ),
    max_size=60,
)


class Indexed:
    def __init__(self, make_tally: Callable[[PodDisruptionBudget], Any]) -> None:
        self.pods: Store[Pod] = Store(POD_INDEXES)
        self.budgets: Store[PodDisruptionBudget] = Store()
        self.workloads = Workloads(Client(MemoryApi()), self.pods)
        self.index = PdbIndex(self.pods, self.budgets, self.workloads, make_tally)
        self.dirty: set[tuple[str, str]] = set()
        self.index.on_dirty(self.dirty.add)
        self.version = 0

    def put_budget(self, name: str, uid: int, selector: Any, team: str | None) -> None:
        self.version += 1
        meta = PdbMeta(
            name=name,
            namespace="ns",
            uid=f"{name}-{uid}",
            resource_version=str(self.version),
            labels={"team": team} if team else {},
        )
        self.budgets.put(PodDisruptionBudget(metadata=meta, spec=PdbSpec(selector=selector)))

    def facts(self) -> dict[tuple[str, str], tuple[int, int, int, set[str]]]:
        """As the index keeps them."""
        found = {}
        for key, entry in self.index.entries.items():
            counts = entry.tally
            assert isinstance(counts, PodCounts)
            found[key] = (
                counts.pods,
                counts.healthy,
                counts.unmanaged,
                set(counts.controllers),
            )
            assert len(entry.members) == counts.pods
        return found

    def from_scratch(self) -> dict[tuple[str, str], tuple[int, int, int, set[str]]]:
        found = {}
        for budget in self.budgets:
            selector = budget.spec.selector
            broken = selector is None or any(
                one.operator == "Nonsense" for one in selector.match_expressions
            )
            selected = [
                pod
                for pod in self.pods
                if not broken
                and pod.metadata.namespace == "ns"
                and Selector(selector or LabelSelector()).selects(pod.metadata.labels)
            ]
            owners = [pod.metadata.owner_references for pod in selected]
            found["ns", budget.metadata.name] = (
                len(selected),
                sum(is_healthy(pod) for pod in selected),
                sum(not owner for owner in owners),
                {owner[0].uid for owner in owners if owner},
            )
        return found


@settings(max_examples=300, deadline=None)
@given(steps)
def test_kept_counts_equal_counts_from_scratch(course: list[Step]) -> None:
    world = Indexed(lambda _budget: PodCounts())
    for what, detail in course:
        before = world.from_scratch()
        world.dirty.clear()
        if what == "pod":
            world.pods.put(detail)
        elif what == "gone":
            world.pods.remove(detail)
        elif what == "budget":
            world.put_budget(*detail)
        else:
            world.budgets.remove(("ns", detail))
        after = world.from_scratch()
        assert world.facts() == after
        assert {key for key in after if before.get(key) != after[key]} <= world.dirty


def one_pod(name: str, uid: str) -> Pod:
    return Pod(metadata=PodMeta(name=name, namespace="ns", uid=uid, labels={"app": "a"}))


def with_evicted(version: int, **disrupted: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=PdbMeta(name="b", namespace="ns", uid="b", resource_version=str(version)),
        spec=PdbSpec(selector=LabelSelector()),
        status=PdbStatus(disrupted_pods=disrupted),
    )


def test_an_eviction_stands_for_the_pod_that_had_the_name() -> None:
    world = Indexed(lambda _budget: PodCounts())
    world.pods.put(one_pod("p", "first"))
    world.budgets.put(with_evicted(1))
    world.budgets.put(with_evicted(2, p="t1", gone="t1"))
    world.pods.put(one_pod("p", "second"))
    evicted = world.index.entries["ns", "b"].evicted
    assert (evicted["p"].uid, evicted["gone"].uid) == ("first", "")
    world.budgets.put(with_evicted(3, p="t2"))
    evicted = world.index.entries["ns", "b"].evicted
    assert (evicted["p"].uid, list(evicted)) == ("second", ["p"])


def test_the_echo_of_an_own_write_marks_nothing() -> None:
    world = Indexed(lambda _budget: PodCounts())
    world.budgets.put(with_evicted(1))
    world.dirty.clear()
    assert world.index.update(with_evicted(2, p="t1"))
    world.budgets.put(with_evicted(2, p="t1"))
    assert world.dirty == set()
    world.budgets.put(with_evicted(3))
    assert world.dirty == {("ns", "b")}


def test_budgets_without_a_tally_are_left_out() -> None:
    world = Indexed(lambda budget: PodCounts() if budget.metadata.labels else None)
    world.pods.put(one_pod("p", "p"))
    world.put_budget("b", 0, LabelSelector(), None)
    assert world.index.entries == {}
    world.put_budget("b", 0, LabelSelector(), "x")
    assert world.facts() == {("ns", "b"): (1, 0, 1, set())}
    world.put_budget("b", 0, LabelSelector(), None)
    assert world.index.entries == {}


def test_covering() -> None:
    world = Indexed(lambda _budget: PodCounts())
    overlaps: list[tuple[str, int]] = []
    world.index.on_overlap(lambda pod, keys: overlaps.append((pod.metadata.name, len(keys))))
    world.put_budget("b", 0, LabelSelector(), None)
    world.put_budget("c", 0, LabelSelector(match_labels={"app": "a"}), None)
    world.pods.put(one_pod("p", "p"))
    world.pods.put(one_pod("p", "p"))
    found = world.index.covering(one_pod("p", "p"))
    assert {entry.key[1] for entry in found} == {"b", "c"}
    assert {name for _, name in world.index.budgets_of("p")} == {"b", "c"}
    assert overlaps == [("p", 2)]
