"""Nodes that are being drained."""

from datetime import timedelta
from typing import Any

from intact.cli.dashboard.history import Drain
from intact.cli.dashboard.views.drain import MOST_REFUSALS, drains
from intact.sandbox.rehearsal.film import Refusal
from tests.support.pictures import NOW, ago, node, pod, pub
from tests.unit.cli.dashboard.shards import moment

Json = dict[str, Any]
NODES = [node("node-0"), node("node-1", cordoned=True)]


def drained(*pods: Any, seen: Drain | None = None, **objects: Any) -> Json:
    at = moment(pods, nodes=NODES, pubs=[pub(need=None)], **objects)
    [found] = drains(at, {"node-1": seen} if seen is not None else {})["drains"]
    return dict(found)


def test_how_far_it_is() -> None:
    seen = Drain(NOW - timedelta(seconds=90), {"uid-gone", "uid-a", "uid-b", "uid-c"})
    found = drained(
        pod("a", node="node-1"),
        pod("b", node="node-1", deleted=ago(seconds=2)),
        pod("c", node="node-1", ready=False),
        pod("agent", node="node-1", owner=("DaemonSet", "agent")),
        pod("elsewhere"),
        seen=seen,
    )
    counts = {name: found[name] for name in ("asked", "gone", "leaving", "held", "free", "left")}
    assert counts == {"asked": 3, "gone": 1, "leaving": 1, "held": 1, "free": 1, "left": 1}
    assert (found["part"], found["begun"], found["since"]) == (25, 50, "1m30s")
    assert [one["name"] for one in found["marks"]] == ["a", "b", "c"]


def test_what_holds_its_pods_as_why_says_it() -> None:
    found = drained(pod("a", node="node-1"))
    assert any("pub/llm" in line for line in found["lines"])
    assert any("holds 1 pod: a" in line for line in found["lines"])


def test_without_a_past_nothing_is_gone() -> None:
    found = drained(pod("a", node="node-1"))
    assert (found["gone"], found["part"], found["since"]) == (0, 0, "")


def test_empty_nodes_come_last_and_others_not_at_all() -> None:
    nodes = [node(name, cordoned=name != "node-9") for name in ("node-10", "node-2", "node-9")]
    at = moment([pod("a", node="node-10")], nodes=nodes)
    assert [one["name"] for one in drains(at, {})["drains"]] == ["node-10", "node-2"]


def test_the_last_refusals_of_a_film() -> None:
    found = [
        Refusal(float(second), float(second), "llm", "a", "uid-a", "node-1", "not now")
        for second in range(MOST_REFUSALS + 1)
    ]
    shown = drains(moment(), {}, found)["refusals"]
    assert (len(shown), shown[0].at) == (MOST_REFUSALS, MOST_REFUSALS)
