"""The books: what is free on a node, after anything that may happen."""

from intact.sandbox.kubelet.nodes import new_node
from intact.sandbox.scheduler.accounts import Accounts
from tests.support.scheduling import Books, info, near, term


def test_pods_take_and_give_back_what_they_request() -> None:
    books = Books("x", allocatable={"cpu": "4", "pods": "10"})
    node = books.accounts.nodes["x"]
    books.put("x", "p", requests={"cpu": "1500m", "example.com/gpu": "1"})
    assert (node.free["cpu"], node.free["example.com/gpu"]) == (2500, -1)
    assert (node.counted_cpu, len(node.pods), node.allowed_pods) == (1500, 1, 10)
    books.put("x", "p", requests={"cpu": "1"})
    assert node.free["cpu"] == 3000
    books.accounts.remove_pod("uid-p")
    assert (node.free["cpu"], node.free["example.com/gpu"], node.counted_cpu) == (4000, 0, 0)


def test_a_node_that_changes_its_size_keeps_what_its_pods_take() -> None:
    books = Books("x", allocatable={"cpu": "4"})
    books.put("x", "p", requests={"cpu": "1"})
    books.node("x", allocatable={"cpu": "2"})
    assert books.accounts.nodes["x"].free["cpu"] == 1000


def test_pods_of_a_node_that_is_not_there_count_when_it_comes() -> None:
    accounts = Accounts()
    accounts.put_pod(info("p", requests={"cpu": "1"}), "x")
    assert list(accounts.nodes) == []
    accounts.put_node(new_node("x", allocatable={"cpu": "4"}))
    assert accounts.nodes["x"].free["cpu"] == 3000
    accounts.remove_node("x")
    accounts.put_node(new_node("x", allocatable={"cpu": "4"}))
    assert accounts.nodes["x"].free["cpu"] == 3000
    accounts.remove_node("x")
    accounts.remove_pod("uid-p")
    accounts.put_node(new_node("x", allocatable={"cpu": "4"}))
    assert accounts.nodes["x"].free["cpu"] == 4000


def test_nodes_are_in_the_order_of_their_names_and_versions_tell_changes() -> None:
    books = Books("b", "a")
    accounts = books.accounts
    assert list(accounts.nodes) == ["a", "b"]
    versions = accounts.version, accounts.node_version
    books.put("a", "p")
    assert (accounts.version > versions[0], accounts.node_version == versions[1]) == (True, True)
    assert accounts.node_of("uid-p") == "a"
    assert accounts.node_of("uid-q") == ""


def test_the_terms_of_a_pod_come_and_go_with_it() -> None:
    books = Books("x")
    affinity = {
        "podAffinity": near(term({"app": "a"})),
        "podAntiAffinity": near(term({"app": "b"})),
    }
    books.put("x", "p", affinity=affinity)
    assert books.accounts.repelling
    assert books.accounts.attracting
    books.accounts.remove_pod("uid-p")
    assert not books.accounts.repelling
    assert not books.accounts.attracting
