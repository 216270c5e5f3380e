"""Which nodes are open to a pod, whatever runs on them."""

from typing import Any

import pytest

from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.eligibility import Eligibility, eligible
from tests.support.scheduling import Books

TAINT = {"key": "gpu", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
ANYTHING = [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("node", "spec", "reason"),
    [
        ({}, {}, ""),
        ({"unschedulable": True}, {}, reasons.UNSCHEDULABLE),
        ({"unschedulable": True, "taints": [CORDON]}, {}, reasons.UNSCHEDULABLE),
        ({"unschedulable": True, "taints": [CORDON]}, {"tolerations": ANYTHING}, ""),
        ({"taints": [TAINT]}, {}, reasons.TAINTED),
        ({"taints": [TAINT | {"effect": "NoExecute"}]}, {}, reasons.TAINTED),
        ({"taints": [TAINT | {"effect": "PreferNoSchedule"}]}, {}, ""),
        ({"taints": [TAINT]}, {"tolerations": ANYTHING}, ""),
        ({"taints": [TAINT]}, {"nodeSelector": {"a": "b"}}, reasons.TAINTED),
        ({}, {"nodeSelector": {"a": "b"}}, reasons.NODE_AFFINITY),
        ({"labels": {"a": "b"}}, {"nodeSelector": {"a": "b"}}, ""),
    ],
)
def test_a_node_and_a_pod(node: dict[str, Any], spec: dict[str, Any], reason: str) -> None:
    found = eligible(spec, Books("x", **node).accounts.nodes)
    assert [each.name for each in found.nodes] == ([] if reason else ["x"])
    assert found.refused == ({reason: 1} if reason else {})


def test_an_affinity_that_names_nodes_leaves_the_others_out() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": ["y"]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    found = eligible({"affinity": affinity}, Books("x", "y", "z").accounts.nodes)
    assert [each.name for each in found.nodes] == ["y"]
    assert found.refused == {reasons.NOT_NAMED: 2}


def test_what_is_known_of_nodes_is_forgotten_when_one_changes() -> None:
    books = Books("x")
    eligibility = Eligibility(books.accounts)
    known = eligibility.of({})
    assert eligibility.of({}) is known
    books.put("x", "p")
    assert eligibility.of({}) is known
    books.node("x", unschedulable=True)
    assert eligibility.of({}).nodes == ()
