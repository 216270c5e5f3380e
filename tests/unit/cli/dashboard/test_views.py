"""What the views show."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from intact.cli.dashboard import views
from intact.cli.dashboard.moment import History, Moment, Point
from intact.cli.dashboard.views import Filter
from intact.model.pod import DetailedPod
from intact.picture.objects import Objects
from tests.support.pictures import NOW, ago, node, pdb, pod, pub


def shards(count: int = 3) -> list[DetailedPod]:
    """Of two pods each; the last shard has one that is not ready."""
    found = []
    for shard in range(count):
        for number in range(2):
            ready = not (shard == count - 1 and number == 1)
            where = f"node-{number}"
            found.append(pod(f"s{shard}-{number}", group=f"s{shard}", node=where, ready=ready))
    return found


def moment(pods: Sequence[DetailedPod] | None = None) -> Moment:
    nodes = [node("node-0"), node("node-1")]
    found = Objects(pods=shards() if pods is None else pods, nodes=nodes, pubs=[pub()], intact=True)
    return Moment(found, NOW)


def test_groups_that_are_down_come_first() -> None:
    found = views.cluster(moment(), Filter())
    assert [one["name"] for one in found["groups"]] == ["s2", "s0", "s1"]
    assert [one["up"] for one in found["groups"]] == [False, True, True]
    assert found["down"] == 1
    states = [[pod["state"] for pod in cell] for cell in found["groups"][0]["cells"]]
    assert states == [["ready"], ["unready"]]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Filter(text="S1"), ["s1"]),
        (Filter(text="s2-0"), ["s2"]),
        (Filter(namespace="llm"), ["s2", "s0", "s1"]),
        (Filter(namespace="other"), []),
        (Filter(node="node-1"), ["s2", "s0", "s1"]),
        (Filter(node="node-9"), []),
        (Filter(budget="pub/llm"), ["s2", "s0", "s1"]),
        (Filter(budget="pdb/llm"), []),
    ],
)
def test_filters(wanted: Filter, names: list[str]) -> None:
    assert [one["name"] for one in views.cluster(moment(), wanted)["groups"]] == names


def test_many_groups_are_cut_after_those_that_are_down() -> None:
    count = views.MOST_GROUPS + 5
    found = views.cluster(moment(shards(count)), Filter())
    assert len(found["groups"]) == views.MOST_GROUPS
    assert found["groups"][0]["name"] == f"s{count - 1}"
    assert found["left_out"] == 5


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (pod("a"), "ready"),
        (pod("a", ready=False), "unready"),
        (pod("a", node="", ready=False), "pending"),
        (pod("a", deleted=ago(seconds=1)), "terminating"),
        (pod("a", phase="Succeeded"), "finished"),
    ],
)
def test_states_of_pods(found: DetailedPod, state: str) -> None:
    assert views.state_of(found) == state


def test_a_budget_with_its_groups_and_reasons() -> None:
    at = moment()
    history = History()
    history.add(at)
    found = views.budget(at, history, (), "pub", "llm", "llm")
    assert [one["name"] for one in found["groups"]] == ["s2", "s0", "s1"]
    assert any("s2" in line for line in found["lines"])
    assert found["timeline"] is not None


def test_a_timeline_has_steps() -> None:
    points = [Point(NOW, 2, 1, 2), Point(NOW + timedelta(seconds=5), 1, 1, 2)]
    found = views.timeline(points, NOW + timedelta(seconds=10))
    assert found is not None
    assert found["available"] == "0.0,0.0 300.0,0.0 300.0,60.0 600,60.0"
    assert found["desired"] == "0.0,60.0 300.0,60.0 300.0,60.0 600,60.0"
    assert (found["least"], found["most"], found["seconds"]) == (1, 2, 10)
    assert views.timeline([], NOW) is None


def test_cordoned_nodes_are_drained() -> None:
    nodes = [node("node-0"), node("node-1", cordoned=True)]
    at = Moment(Objects(pods=shards(), nodes=nodes, pdbs=[pdb()], intact=True), NOW)
    found = views.drains(at)["drains"]
    assert [(one["name"], one["pods"]) for one in found] == [("node-1", 3)]
    assert "node-1" in found[0]["lines"][0]


def test_why() -> None:
    at = moment()
    assert views.why_pod(at, "llm", "s2-1")["what"] == "pod s2-1"
    assert views.why_group(at, "llm", "s2")["what"] == "group s2"
    assert views.why_node(at, "node-0")["what"] == "node node-0"


def test_what_is_not_there() -> None:
    at = moment()
    for view, given in (
        (views.why_pod, ("llm", "x")),
        (views.why_group, ("llm", "x")),
        (views.why_node, ("x",)),
        (views.rollout, ("llm", "x")),
    ):
        with pytest.raises(views.Unknown, match=r"there is no .* x"):
            view(at, *given)
    with pytest.raises(views.Unknown, match="there is no budget pub/x"):
        views.budget(at, History(), (), "pub", "llm", "x")
