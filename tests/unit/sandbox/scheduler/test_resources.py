"""Room on a node, and how well a pod would use it."""

from typing import Any

import pytest

from intact.sandbox.scheduler.resources import (
    balanced,
    could_fit,
    least_allocated,
    missing,
    ports_conflict,
)
from tests.support.scheduling import Books, info

GI = str(1 << 30)


@pytest.mark.parametrize(
    ("requests", "lacks", "resolvable"),
    [
        ({"cpu": "1"}, (), True),
        ({"cpu": "3"}, ("Insufficient cpu",), True),
        ({"cpu": "5"}, ("Insufficient cpu",), False),
        ({"cpu": "3", "example.com/gpu": "1"}, ("Insufficient cpu", "Insufficient example.com/gpu"),
         False),
        ({"example.com/gpu": "0"}, (), True),
    ],
)  # fmt: skip
def test_what_a_node_lacks(
    requests: dict[str, str], lacks: tuple[str, ...], resolvable: bool
) -> None:
    books = Books("x", allocatable={"cpu": "4"})
    books.put("x", "p", requests={"cpu": "2"})
    node, pod = books.accounts.nodes["x"], info("new", requests=requests)
    assert missing(pod, node) == lacks
    assert could_fit(pod, node) == resolvable


def test_a_node_takes_so_many_pods() -> None:
    books = Books("x", allocatable={"pods": "1"})
    assert missing(info("new"), books.accounts.nodes["x"]) == ()
    books.put("x", "p")
    assert missing(info("new"), books.accounts.nodes["x"]) == ("Too many pods",)


def with_port(number: int, **port: Any) -> dict[str, Any]:
    ports = [{"containerPort": 1, "hostPort": number, **port}]
    return {"containers": [{"name": "main", "ports": ports}]}


@pytest.mark.parametrize(
    ("port", "conflict"),
    [
        (with_port(80), True),
        (with_port(81), False),
        (with_port(80, protocol="UDP"), False),
        (with_port(80, hostIP="10.0.0.2"), False),
        (with_port(80, hostIP="10.0.0.1"), True),
    ],
)
def test_host_ports(port: dict[str, Any], conflict: bool) -> None:
    books = Books("x")
    books.put("x", "p", **with_port(80, hostIP="10.0.0.1"))
    found = ports_conflict(info("new", **port), books.accounts.nodes["x"])
    assert found == conflict


@pytest.mark.parametrize(
    ("taken", "least", "balance"),
    [
        # By kube-scheduler's own formulas: (free cpu % + free memory %) / 2, and by how much the
        # difference of the two fractions shrinks.
        ({}, 75, 75),
        ({"cpu": "2", "memory": GI}, 43, 75),
        ({"cpu": "2"}, 48, 75),
    ],
)
def test_scores(taken: dict[str, str], least: int, balance: int) -> None:
    books = Books("x", allocatable={"cpu": "4", "memory": "8Gi"})
    if taken:
        books.put("x", "p", requests=taken)
    pod = info("new", requests={"cpu": "1", "memory": "2Gi"})
    node = books.accounts.nodes["x"]
    assert (least_allocated(pod, node), balanced(pod, node)) == (least, balance)


def test_a_pod_that_evens_out_a_node_is_balanced() -> None:
    books = Books("x", allocatable={"cpu": "4", "memory": "8Gi"})
    books.put("x", "p", requests={"cpu": "2"})
    node = books.accounts.nodes["x"]
    evens = balanced(info("a", requests={"memory": "4Gi"}), node)
    tips = balanced(info("b", requests={"cpu": "2"}), node)
    assert (evens, tips) == (87, 62)
