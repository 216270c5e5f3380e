"""A role on a LeaderWorkerSet: which replicas are new, and where the partition stands."""

from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from intact.model.pod import RolePod
from intact.model.rbg import Role
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.leaderworkerset import order, places
from intact.rollout.plan import Rules, plan
from intact.rollout.replicas import GROUP_INDEX
from tests.support.rbg_objects import kind, role
from tests.unit.rollout.scene import pod

SIZE = 2
ROLE = msgspec.convert(
    role("decode", 4, leaderWorkerSet={"size": SIZE}, **kind("LeaderWorkerSet")), Role
)


def replica(index: int, revision: str, *, ready: int = SIZE) -> list[RolePod]:
    """A leader and a worker, so many of them ready."""
    labels = {GROUP_INDEX: str(index)}
    return [
        pod("decode", f"{index}-{number}", revision, ready=number < ready, labels=labels)
        for number in range(SIZE)
    ]


def facts(*replicas: list[RolePod], partition: int = 4, revision: str = "new") -> RoleFacts:
    live = WorkloadFacts("llm-decode", "uid", 4, revision, partition)
    return RoleFacts(ROLE, 4, "new", [one for each in replicas for one in each], [live])


OLD = [replica(index, "old") for index in range(4)]


def test_a_replica_is_ready_when_all_its_pods_are() -> None:
    found = places(facts(*OLD[:2], replica(2, "new", ready=1), replica(3, "new")))
    assert found.updated == 2
    assert [(one.new, one.ready) for one in found.role.replicas] == [
        (False, True),
        (False, True),
        (True, False),
        (True, True),
    ]


def test_what_the_partition_lets_go_counts_as_started() -> None:
    found = places(facts(*OLD, partition=3))
    assert [one.new for one in found.role.replicas] == [False, False, False, True]
    assert found.updated == 0


@pytest.mark.parametrize(("observed", "expected"), [(True, True), (False, False)])
def test_without_an_old_replica_a_missing_one_comes_back_new(
    observed: bool, expected: bool
) -> None:
    given = facts(*(replica(index, "new") for index in range(3)))
    [live] = given.workloads
    given = replace(given, workloads=[replace(live, observed=observed)])
    assert places(given).role.replicas[3].new is expected


def test_a_new_template_is_written_with_a_partition_that_holds_everything() -> None:
    given = facts(*OLD, partition=0, revision="old")
    made = plan([places(given).role], Rules()).roles["decode"]
    found = order(given, made, None)
    assert (found.revision, found.replicas, found.partition) == ("new", 4, 4)


@pytest.mark.parametrize(("ratio", "expected"), [("1/4", 1), ("1/2", 2), ("0", 1)])
def test_the_partition_goes_down_with_the_plan(ratio: str, expected: int) -> None:
    given, rules = facts(*OLD), Rules(max_unavailable=Fraction(ratio))
    made = plan([places(given).role], rules).roles["decode"]
    found = order(given, made, rules.max_unavailable)
    assert found.partition == 4 - len(made.moves)
    assert found.max_unavailable == expected
