"""Decisions: filters in their order, scores with their weights, ties in turn."""

from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.placement import Placer
from intact.sandbox.scheduler.pods import chosen
from tests.support.scheduling import ZONE, Books, info, near, spread, term

A = {"app": "a"}


def test_the_first_filter_that_refuses_gives_the_reason() -> None:
    books = Books("x", allocatable={"cpu": "1"})
    books.node("y", unschedulable=True, allocatable={"cpu": "1"})
    books.node("z", taints=[{"key": "k", "effect": "NoSchedule"}])
    books.node("w", labels={ZONE: "1"}, allocatable={"cpu": "8"})
    books.put("w", "p", labels=A, requests={"cpu": "1"})
    away = {"podAntiAffinity": near(term(A))}
    assert books.why(requests={"cpu": "2"}, affinity=away) == (
        "0/4 nodes are available: 1 Insufficient cpu, "
        "1 node(s) didn't match pod anti-affinity rules, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable."
    )


def test_each_lack_of_a_node_is_told() -> None:
    books = Books("x", allocatable={"cpu": "1", "memory": "1Gi"})
    assert books.why(requests={"cpu": "2", "memory": "2Gi"}) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."
    )


def test_only_refusals_that_other_pods_cause_could_be_resolved() -> None:
    books = Books("x", "y", allocatable={"cpu": "2"})
    books.put("x", "p", requests={"cpu": "1"})
    books.node("y", unschedulable=True)
    assert (
        books.place(requests={"cpu": "2"})
        .refusals.message()
        .endswith(
            "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling."
        )
    )


def test_the_emptiest_node_is_best() -> None:
    books = Books("x", "y", "z", allocatable={"cpu": "10", "memory": "10Gi"})
    books.put("x", "p", requests={"cpu": "4"})
    books.put("y", "q", requests={"cpu": "1"})
    assert books.chosen() == "z"


def test_equally_good_nodes_take_turns() -> None:
    books = Books("x", "y", "z")
    assert [books.chosen(f"p{number}") for number in range(5)] == ["x", "y", "z", "x", "y"]


def test_siblings_are_spread_without_any_constraint() -> None:
    books = Books("x", "y", "z")
    books.placer = Placer(books.accounts, lambda _pod: chosen({"matchLabels": A}))
    for number in range(6):
        node = books.chosen(f"p{number}", labels=A)
        books.put(node, f"p{number}", labels=A)
    assert [len(node.pods) for node in books.accounts.nodes.values()] == [2, 2, 2]


def test_constraints_that_only_score_are_followed_while_they_can_be() -> None:
    books = Books("x", "y")
    books.put("x", "p", labels=A)
    soft = spread(A, whenUnsatisfiable="ScheduleAnyway")
    assert books.chosen(labels=A, topologySpreadConstraints=[soft]) == "y"
    books.node("y", unschedulable=True)
    assert books.chosen(labels=A, topologySpreadConstraints=[soft]) == "x"


def test_preferred_nodes_and_nodes_without_taints_are_better() -> None:
    books = Books("x", "y")
    books.node("y", labels={"disk": "ssd"})
    expressions = [{"key": "disk", "operator": "Exists"}]
    preferred = [{"weight": 1, "preference": {"matchExpressions": expressions}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    assert [books.chosen(affinity=affinity) for _ in range(2)] == ["y", "y"]
    books.node("y", taints=[{"key": "k", "effect": "PreferNoSchedule"}])
    assert [books.chosen() for _ in range(2)] == ["x", "x"]
    exists = [{"key": "k", "operator": "Exists"}]
    assert {books.chosen(tolerations=exists) for _ in range(2)} == {"x", "y"}


def test_of_many_nodes_some_are_looked_at_and_the_next_search_goes_on_there() -> None:
    books = Books(*(f"n{number:03}" for number in range(250)))
    seen = set()
    for number in range(3):
        placement = books.placer.place(info(f"p{number}"))
        assert placement.node
        seen.add(placement.node)
    assert len(seen) == 3


def test_without_nodes_no_pod_is_placed() -> None:
    assert Books().place().refusals.message() == reasons.NO_NODES
