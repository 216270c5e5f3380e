"""Nodes of the copy are drained one after the other, or several at once."""

from typing import Any

import pytest

from intact.sandbox.rehearsal.stage import Options
from tests.support.small_clusters import SmallCluster
from tests.unit.sandbox.rehearsal.scene import budget, drained, went


def web(**budget_spec: Any) -> SmallCluster:
    made = SmallCluster(nodes=4)
    made.deployment("web", ["node-0", "node-0", "node-1", "node-1"])
    if budget_spec:
        made.pdb("web", {"app": "web"}, **budget_spec)
    return made


def test_pods_go_within_their_budget_and_the_node_is_empty_after_the_last() -> None:
    report = drained(web(maxUnavailable=1), "node-0")
    assert report.goes_through
    assert went(report) == ["web-5d4f8c7d9-pod0", "web-5d4f8c7d9-pod1"]
    [node] = report.nodes
    assert (node.pods, node.begun, node.empty) == (2, 0, report.took)
    assert [each.attempts for each in report.pods] == [1, 2]
    assert budget(report, "web").most_down == 1


def test_without_a_budget_all_go_at_once() -> None:
    report = drained(web(), "node-0")
    assert {each.at for each in report.pods} == {0}
    assert report.took == pytest.approx(1, abs=0.1)


def test_nodes_are_cordoned_first_and_drained_one_after_the_other() -> None:
    report = drained(web(maxUnavailable=1), "node-0", "node-1")
    first, second = report.nodes
    assert second.begun == first.empty
    assert len(report.pods) == 4, "no pod moves to a node that is drained next"


def test_several_at_once() -> None:
    report = drained(web(maxUnavailable=4), "node-0", "node-1", parallel=2)
    assert [each.begun for each in report.nodes] == [0, 0]
    assert budget(report, "web").most_down == 4


def test_where_nothing_can_change_the_next_node_shows_what_is_in_its_way() -> None:
    made = web()
    made.pdb("web", {"app": "web"}, minAvailable=4)
    report = drained(made, "node-0", "node-1")
    assert not report.goes_through
    assert report.ended == "still"
    assert [each.empty for each in report.nodes] == [None, None]
    assert len(report.never) == 4


def test_pods_that_kubectl_refuses_are_told_and_the_others_go() -> None:
    made = web()
    made.pod("bare", "node-0")
    report = drained(made, "node-0")
    [node] = report.nodes
    assert "bare declares no controller" in node.refusal
    assert node.empty is None
    assert [each.pod for each in report.never] == ["bare"]
    assert len(report.pods) == 2


def test_with_force_they_go_and_do_not_come_back() -> None:
    made = web()
    made.pod("bare", "node-0")
    report = drained(made, "node-0", options=Options(force=True))
    assert report.goes_through
    assert [each.pod for each in report.lost] == ["bare"]


def test_a_drain_that_is_not_over_at_the_horizon_ends_there() -> None:
    report = drained(web(maxUnavailable=1), "node-0", options=Options(horizon=3.0))
    assert (report.ended, report.goes_through) == ("horizon", False)
