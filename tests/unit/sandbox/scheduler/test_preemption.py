"""Which pods have to go for one of a higher priority."""

from collections.abc import Sequence
from typing import Any

from intact.sandbox.scheduler.pods import PodInfo, pod_info
from intact.sandbox.scheduler.preemption import Preemption, preemption
from tests.support.scheduling import Books, a_pod, info, near, term


def no_budgets(_pods: Sequence[PodInfo]) -> list[PodInfo]:
    return []


def put(books: Books, node: str, name: str, since: str = "1", **pod: Any) -> None:
    made = a_pod(name, requests={"cpu": pod.pop("cpu", "1")}, **pod)
    made["status"]["startTime"] = since
    books.accounts.put_pod(pod_info(made), node)


def preempted(
    books: Books, cpu: str = "1", budgets: Any = no_budgets, **pod: Any
) -> Preemption | str:
    new = info("new", requests={"cpu": cpu}, priority=10, **pod)
    refusals = books.placer.place(new).refusals
    before = _state(books)
    found = preemption(new, books.accounts, books.placer, refusals, budgets)
    assert _state(books) == before
    return found if found is not None else refusals.message().partition("preemption: ")[2]


def _state(books: Books) -> dict[str, Any]:
    return {
        node.name: (sorted(node.pods), dict(node.free), node.counted_cpu)
        for node in books.accounts.nodes.values()
    }


def names(found: Preemption | str) -> tuple[str, list[str]]:
    assert isinstance(found, Preemption)
    return found.node, [each.name for each in found.victims]


def test_as_few_as_possible_go_and_the_youngest_of_the_lowest_first() -> None:
    books = Books("x", allocatable={"cpu": "4"})
    put(books, "x", "important", priority=5)
    for number in range(3):
        put(books, "x", f"p{number}", since=str(number))
    assert names(preempted(books)) == ("x", ["p2"])
    assert names(preempted(books, "2")) == ("x", ["p1", "p2"])
    assert names(preempted(books, "4")) == ("x", ["important", "p0", "p1", "p2"])


def test_pods_of_the_same_priority_stay() -> None:
    books = Books("x", allocatable={"cpu": "1"})
    put(books, "x", "p", priority=10)
    assert preempted(books) == (
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    books.node("y", allocatable={"cpu": "1"})
    put(books, "y", "low")
    assert names(preempted(books)) == ("y", ["low"])


def test_the_node_where_it_hurts_least() -> None:
    books = Books("a", "b", "c", "d", allocatable={"cpu": "2"})
    put(books, "a", "a0", cpu="2", priority=5)
    put(books, "b", "b0", since="1")
    put(books, "b", "b1", since="2")
    put(books, "c", "c0", cpu="2", since="1")
    put(books, "d", "d0", cpu="2", since="2")
    assert names(preempted(books, "2")) == ("d", ["d0"])


def test_budgets_count_more_than_priorities() -> None:
    books = Books("a", "b", allocatable={"cpu": "1"})
    put(books, "a", "kept", labels={"app": "kept"})
    put(books, "b", "higher", priority=5)

    def budgets(pods: Sequence[PodInfo]) -> list[PodInfo]:
        return [each for each in pods if each.labels]

    assert names(preempted(books, budgets=budgets)) == ("b", ["higher"])


def test_a_pod_under_a_budget_comes_back_before_a_more_important_one() -> None:
    books = Books("a", allocatable={"cpu": "2"})
    put(books, "a", "kept", labels={"app": "kept"})
    put(books, "a", "higher", priority=5)

    def budgets(pods: Sequence[PodInfo]) -> list[PodInfo]:
        return [each for each in pods if each.labels]

    assert names(preempted(books, budgets=budgets)) == ("a", ["higher"])


def test_what_would_not_help_is_told() -> None:
    books = Books("x", allocatable={"cpu": "4"})
    put(books, "x", "low", cpu="1")
    put(books, "x", "high", cpu="3", priority=20)
    assert preempted(books, "2") == "0/1 nodes are available: 1 Insufficient cpu."


def test_pods_that_repel_the_new_one_can_go() -> None:
    books = Books("x")
    put(books, "x", "low", labels={"app": "a"})
    away = {"podAntiAffinity": near(term({"app": "a"}))}
    assert names(preempted(books, affinity=away)) == ("x", ["low"])
