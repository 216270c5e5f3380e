"""Which live counts a budget gets."""

import random
from datetime import UTC, datetime

import pytest

from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.pod_counts import PodCounts
from intact.kube.client import Client
from intact.kube.store import Store
from intact.operator.pdb.controller import PdbController
from intact.operator.pdb.group_sources import GroupSources
from intact.operator.pdb.tallies import Tallies, counting_groups
from intact.operator.watch.owners import Workloads
from intact.operator.watch.shared import POD_INDEXES
from intact.sandbox import MemoryApi
from tests.unit.budget.pdb.group_cases import a_budget


@pytest.mark.parametrize(
    ("scope", "groups", "disruption", "tally"),
    [
        ("Workload", True, False, GroupCounts),
        ("Workload", True, True, GroupCounts),
        ("Nonsense", True, True, GroupCounts),
        ("Pod", True, False, None),
        ("Pod", True, True, PodCounts),
        ("Workload", False, True, PodCounts),
    ],
)
def test_the_counts_of_a_budget(
    scope: str, groups: bool, disruption: bool, tally: type[object] | None
) -> None:
    client = Client(MemoryApi())
    pods = Store(POD_INDEXES)
    workloads = Workloads(client, pods)
    tallies = Tallies(GroupSources(client, workloads, pods), groups, disruption)
    made = tallies.make(a_budget(1, scope=scope, min_ready_replicas="2"))
    assert (type(made) if made is not None else None) is tally
    if isinstance(made, GroupCounts):
        assert made.settings.min_ready == 2


def test_only_budgets_that_count_groups_are_listed() -> None:
    controller = PdbController(
        Client(MemoryApi()),
        "me",
        now=lambda: datetime.now(UTC),
        leads=lambda: False,
        disruption=True,
        rng=random.Random(1),
    )
    controller.budgets.store.put(a_budget(1, scope="Pod"))
    assert counting_groups(controller.index) == []
    controller.budgets.store.put(a_budget(1))
    [(entry, counts)] = counting_groups(controller.index)
    assert (entry.key, entry.tally) == (("ns", "llm"), counts)
