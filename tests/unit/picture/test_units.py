"""Units of budgets: whether they are up, and since when they are down."""

import pytest

from intact.model.pod import DetailedPod
from intact.picture.units import State, UnitPicture, terminating_since, unit_picture, unready_since
from tests.support.pictures import ago, pod, unschedulable


def unit(
    *pods: DetailedPod, need: int | None = 2, let_go: dict[str, str] | None = None
) -> UnitPicture:
    return unit_picture("llm", "shard-0", need, pods, is_group=True, let_go=let_go)


READY, ALSO, THIRD = pod("a"), pod("b"), pod("c")
BROKEN = pod("x", ready=False, since=ago(minutes=4))
LATER = pod("y", ready=False, since=ago(minutes=1))
GOING = pod("z", deleted=ago(minutes=2))
NEW = unschedulable("n", ago(seconds=30))


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (unit(READY, ALSO), State.AVAILABLE),
        (unit(READY, ALSO, THIRD), State.SURPLUS),
        (unit(READY, BROKEN), State.DOWN),
        (unit(READY, GOING), State.DOWN),
        (unit(), State.ABSENT),
        (unit(READY, need=None), State.UNKNOWN),
        (unit(READY, ALSO, let_go={"uid-a": ago(seconds=5)}), State.DOWN),
        (unit(READY, ALSO, let_go={"uid-another": ago(seconds=5)}), State.AVAILABLE),
    ],
)
def test_the_state_follows_from_pods_and_need(found: UnitPicture, state: State) -> None:
    assert found.state is state
    assert found.is_up == (state in (State.AVAILABLE, State.SURPLUS))


@pytest.mark.parametrize(
    ("found", "since"),
    [
        (unit(READY, ALSO), ""),
        (unit(READY, BROKEN), ago(minutes=4)),
        (unit(READY, BROKEN, LATER), ago(minutes=1)),
        (unit(BROKEN, LATER), ago(minutes=4)),
        (unit(READY, GOING, NEW), ago(minutes=2)),
        (unit(READY, NEW), ago(seconds=30)),
        (unit(READY), ""),
        (unit(READY, ALSO, let_go={"uid-a": ago(seconds=5)}), ago(seconds=5)),
    ],
    ids=[
        "it is up",
        "one of two",
        "it could spare the first",
        "both",
        "the one that goes and its successor",
        "a pod that never ran",
        "nothing tells of a pod that is not there",
        "a pod that was let go",
    ],
)
def test_a_unit_is_down_since_the_first_pod_that_it_could_not_spare(
    found: UnitPicture, since: str
) -> None:
    assert found.since == since


def test_pods_are_by_name_and_without_those_that_have_finished() -> None:
    found = unit(ALSO, READY, pod("done", phase="Succeeded"))
    assert [one.metadata.name for one in found.pods] == ["a", "b"]
    assert found.available == 2


def test_missing_pods_are_those_that_do_not_count_longest_first() -> None:
    found = unit(READY, LATER, BROKEN, ALSO, let_go={"uid-a": ago(minutes=2)})
    assert [one.metadata.name for one in found.missing] == ["x", "a", "y"]


def test_nodes_are_named_once() -> None:
    found = unit(pod("a", node="n2"), pod("b", node="n1"), pod("c", node="n2"), NEW)
    assert found.nodes == ["n1", "n2"]


def test_a_deletion_began_a_grace_period_before_it_ends() -> None:
    assert terminating_since(pod("a", deleted=ago(minutes=5), grace=600)) == ago(minutes=5)


def test_what_is_no_time_is_shown_as_it_is() -> None:
    broken = pod("a", metadata={"name": "a", "namespace": "n", "deletionTimestamp": "soon"})
    assert terminating_since(broken) == "soon"


def test_a_pod_without_conditions_is_unready_since_its_creation() -> None:
    assert unready_since(pod("a", conditions=[{"type": "X", "status": "True"}])) == ago(hours=1)
