"""How many groups there should be: what objects tell, what pods told, and for how long."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from intact.budget.pdb.expected_groups import ExpectedGroups, depends_on, expect
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_settings import GroupSettings
from intact.budget.pdb.group_sources import LWS_GROUP_KEY, LWS_NAME
from intact.model.group_ledger import GroupLedger
from intact.model.meta import OwnerReference
from intact.model.pod import Pod
from intact.model.scheduling import LeaderWorkerSet, PodGroup
from tests.unit.budget.pdb.group_cases import (
    Known,
    a_leader_worker_set,
    a_pod,
    a_pod_group,
    groups_of,
)

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
BY_LABEL = GroupSettings(label_key="shard")


def at(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def counts_of(*pods: Pod, known: Known, settings: GroupSettings = BY_LABEL) -> GroupCounts:
    counts = GroupCounts(settings, known)
    for pod in pods:
        counts.put(pod)
    return counts


def expected(
    counts: GroupCounts,
    known: Known,
    before: GroupLedger | None = None,
    *,
    seconds: float = 0,
    wants: bool = True,
) -> ExpectedGroups:
    now = NOW + timedelta(seconds=seconds)
    return expect(before or GroupLedger(), counts, known, now, lambda _: wants)


def shards(*names: str) -> GroupCounts:
    """Groups that only their pods tell of."""
    pods = (a_pod(name, labels={"shard": name}, owner=name) for name in names)
    return counts_of(*pods, known=Known())


def test_the_number_of_pod_groups_counts_even_without_pods() -> None:
    known = groups_of(3, "a", "b")
    counts = counts_of(a_pod("p", "a"), known=known, settings=GroupSettings())
    assert expected(counts, known).total == 2
    counts.remove("uid-p")
    assert expected(counts, known) == ExpectedGroups(2, {}, ())
    known.pod_groups.clear()
    assert expected(counts, known) == ExpectedGroups(0, {}, ("a",))


def test_one_vanished_group_is_enough_to_remember_its_family() -> None:
    known = groups_of(1, "a", "b")
    pods = (a_pod("p", "a"), a_pod("q", "b"))
    counts = counts_of(*pods, known=known, settings=GroupSettings())
    counts.remove("uid-p")
    assert expected(counts, known) == ExpectedGroups(2, {}, ("a",))
    counts.remove("uid-q")
    assert expected(counts, known) == ExpectedGroups(2, {}, ("b",))


def test_pod_groups_that_the_budget_does_not_select_are_not_expected() -> None:
    known = groups_of(1, "a", "b", "c", "d")
    counts = counts_of(a_pod("p", "a"), a_pod("q", "b"), known=known, settings=GroupSettings())
    # The pods of c are not selected; d has none yet.
    known.others = [a_pod("r", "c")]
    assert expected(counts, known).total == 3
    known.others = []
    assert expected(counts, known).total == 4


def test_groups_of_a_leader_worker_set_that_the_budget_does_not_select_are_not_expected() -> None:
    def leader(key: str) -> Pod:
        labels = {LWS_GROUP_KEY: key, LWS_NAME: "llm", "shard": key}
        return a_pod(key, labels=labels, size="1")

    known = Known(leader_worker_sets={"llm": a_leader_worker_set("llm", 4, 1)})
    known.others = [leader("a"), leader("b"), leader("c")]
    for settings in (GroupSettings(), BY_LABEL):
        counts = counts_of(leader("a"), known=known, settings=settings)
        assert expected(counts, known).total == 2
        scaled_in = replace(known, leader_worker_sets={"llm": a_leader_worker_set("llm", 1, 1)})
        assert expected(counts, scaled_in).total == 1


def test_a_finished_group_is_not_expected_with_its_pods_or_after_them() -> None:
    known = groups_of(1, "a", "b")
    done = a_pod("p", "a", phase="Succeeded", ready=False)
    counts = counts_of(done, a_pod("q", "b"), known=known, settings=GroupSettings())
    assert expected(counts, known).total == 1
    before = GroupLedger(unavailable={"a": 0})
    counts.remove("uid-p")
    assert expected(counts, known, before) == ExpectedGroups(1, {}, ())
    # Its PodGroup goes: nothing is left to remember. A new pod of the name is a new start.
    del known.pod_groups["a"]
    assert expected(counts, known) == ExpectedGroups(1, {}, ("a",))
    known.pod_groups["a"] = a_pod_group("a", 1, "llm")
    counts.put(a_pod("p2", "a", ready=False))
    assert expected(counts, known).total == 2
    # A failed pod is replaced: its group is not finished.
    counts.put(a_pod("p2", "a", phase="Failed", ready=False))
    assert expected(counts, known).total == 2


def test_a_finished_group_that_only_pods_tell_of_is_not_expected() -> None:
    labels = {"shard": "a"}
    counts = shards("a", "b")
    counts.put(a_pod("a", labels=labels, owner="a", phase="Succeeded", ready=False))
    assert expected(counts, Known()).total == 1


def test_the_annotation_overrides_everything_else() -> None:
    settings = GroupSettings(expected=9)
    known = groups_of(3, "a")
    counts = counts_of(a_pod("p", "a"), known=known, settings=settings)
    assert expected(counts, known).total == 9


def test_a_leader_worker_set_tells_its_replicas() -> None:
    pod = a_pod("x", labels={LWS_GROUP_KEY: "k", LWS_NAME: "llm"}, size="1")
    counts = counts_of(pod, known=Known(), settings=GroupSettings())
    known = Known(leader_worker_sets={"llm": a_leader_worker_set("llm", 5, 1)})
    assert expected(counts, known).total == 5
    assert expected(counts, Known()).total == 1


def test_an_absent_group_stays_expected_for_two_minutes() -> None:
    counts = shards("a", "b")
    counts.remove("uid-a")
    assert expected(counts, Known()) == ExpectedGroups(2, {"a": at(0)}, ())
    ledger = GroupLedger(absent={"a": at(0)})
    assert expected(counts, Known(), ledger, seconds=119).absent == {"a": at(0)}
    assert expected(counts, Known(), ledger, seconds=120) == ExpectedGroups(1, {}, ("a",))


def test_an_absent_group_whose_controller_wants_no_pods_is_not_expected() -> None:
    counts = shards("a", "b")
    counts.remove("uid-a")
    assert expected(counts, Known(), wants=False) == ExpectedGroups(1, {}, ("a",))


def test_an_absent_group_is_expected_as_long_as_one_of_its_controllers_wants_pods() -> None:
    """A rollout gives its pods another controller; pods without grace go without a last word."""
    labels = {"shard": "a"}
    counts = shards("b")
    for name, owner in (("p", "old"), ("q", "new"), ("r", "new")):
        counts.put(a_pod(name, labels=labels, owner=owner))
    for name in ("p", "q", "r"):
        counts.remove(f"uid-{name}")
    for wanted, total in (("new", 2), ("old", 2), ("none", 1)):
        found = expect(GroupLedger(), counts, Known(), NOW, is_named(wanted))
        assert found.total == total


def is_named(name: str) -> Callable[[OwnerReference], bool]:
    return lambda owner: owner.name == name


def test_a_new_leader_knows_of_absent_groups_from_the_ledger() -> None:
    before = GroupLedger(unavailable={"c": 1})
    found = expected(shards("a", "b"), Known(), before)
    assert found == ExpectedGroups(3, {"c": at(0)}, ())


def test_expecting_changes_no_counts() -> None:
    counts = shards("a", "b")
    counts.remove("uid-a")
    assert expected(counts, Known(), wants=False).forgotten == ("a",)
    assert set(counts.vanished) == {"a"}


@pytest.mark.parametrize(
    ("definition", "vanished", "depends"),
    [
        (a_pod_group("a", 3, "llm"), False, True),
        (a_pod_group("new", 3, "llm"), False, True),
        (a_pod_group("new", 3, "llm"), True, True),
        (a_pod_group("new", 3, "other"), False, False),
        (a_pod_group("new", 3), False, False),
        (a_leader_worker_set("llm", 1, 1), False, True),
        (a_leader_worker_set("other", 1, 1), False, False),
    ],
)
def test_which_definitions_the_number_depends_on(
    definition: PodGroup | LeaderWorkerSet, vanished: bool, depends: bool
) -> None:
    counts = counts_of(a_pod("p", "a"), known=groups_of(3, "a"), settings=GroupSettings())
    if vanished:
        counts.remove("uid-p")
    assert depends_on(counts, definition) == depends
