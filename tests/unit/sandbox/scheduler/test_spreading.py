"""Topology spread constraints."""

from typing import Any

import pytest

from intact.sandbox.scheduler.eligibility import eligible
from intact.sandbox.scheduler.pods import Spread, chosen
from intact.sandbox.scheduler.reasons import SPREAD, SPREAD_LABEL
from intact.sandbox.scheduler.spreading import DEFAULTS, breaks, limits, scores
from tests.support.scheduling import HOSTNAME, ZONE, Books, info, spread

APP = {"app": "a"}


def books(**pods: int) -> Books:
    """Nodes x and y in zone 1, z in zone 2, each with so many pods."""
    found = Books()
    for name, zone in (("x", "1"), ("y", "1"), ("z", "2")):
        found.node(name, labels={ZONE: zone})
    for node, number in pods.items():
        for index in range(number):
            found.put(node, f"{node}{index}", labels=APP)
    return found


def refused(found: Books, *constraints: dict[str, Any], **pod: Any) -> dict[str, str]:
    new = info("new", labels=APP, topologySpreadConstraints=list(constraints), **pod)
    nodes = found.accounts.nodes
    known = limits(new, found.accounts, eligible(new.spec, nodes))
    answers = {name: breaks(known, node) for name, node in nodes.items()}
    return {name: reason for name, reason in answers.items() if reason}


@pytest.mark.parametrize(
    ("pods", "constraint", "expected"),
    [
        ({}, {}, ""),
        ({"x": 1}, {}, "x"),
        ({"x": 1, "y": 1}, {}, "xy"),
        ({"x": 1, "y": 1, "z": 1}, {}, ""),
        ({"x": 1}, {"maxSkew": 2}, ""),
        ({"x": 1, "y": 1}, {"topologyKey": ZONE}, "xy"),
        ({"z": 1}, {"topologyKey": ZONE}, "z"),
        ({"x": 1, "y": 1, "z": 1}, {"minDomains": 4}, "xyz"),
        ({"x": 1, "y": 1, "z": 1}, {"minDomains": 3}, ""),
        ({"x": 5}, {"labelSelector": {}}, ""),
        ({"x": 5}, {"labelSelector": None}, ""),
    ],
)
def test_a_constraint(pods: dict[str, int], constraint: dict[str, Any], expected: str) -> None:
    constraint = {**spread(APP), **constraint}
    assert refused(books(**pods), constraint) == dict.fromkeys(expected, SPREAD)


def test_terminating_pods_do_not_count() -> None:
    found = books()
    found.put("x", "p", labels=APP, terminating=True)
    assert refused(found, spread(APP)) == {}


def test_a_node_without_the_label_takes_none() -> None:
    found = books()
    found.node("other", labels={})
    assert refused(found, spread(APP, ZONE)) == {"other": SPREAD_LABEL}


@pytest.mark.parametrize(("policy", "expected"), [("Honor", ""), ("Ignore", "xy")])
def test_nodes_that_the_pod_may_not_use_count_by_policy(policy: str, expected: str) -> None:
    """z is empty. If it counts, x and y already have one pod more than the least."""
    found = books(x=1, y=1)
    wanted = {"nodeSelector": {ZONE: "1"}}
    reasons = refused(found, spread(APP, nodeAffinityPolicy=policy), **wanted)
    assert reasons == dict.fromkeys(expected, SPREAD)


@pytest.mark.parametrize(("policy", "expected"), [("Honor", ""), ("Ignore", "xy")])
def test_tainted_nodes_count_by_policy(policy: str, expected: str) -> None:
    found = books(x=1, y=1)
    found.node("z", labels={ZONE: "2"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    reasons = refused(found, spread(APP, nodeTaintsPolicy=policy))
    assert reasons == dict.fromkeys(expected, SPREAD)


def scored(found: Books, *constraints: Spread, requires_keys: bool = True) -> list[int]:
    new = info("new", labels=APP)
    nodes = found.accounts.nodes
    return scores(
        new,
        constraints,
        found.accounts,
        eligible(new.spec, nodes),
        list(nodes.values()),
        requires_keys=requires_keys,
    )


def test_scores_are_those_of_kube_scheduler() -> None:
    """With log(5) as weight of three hosts: 2, 1 and 0 pods are 3, 2 and 0 after rounding."""
    by_host = Spread(HOSTNAME, 1, chosen({"matchLabels": APP}))
    assert scored(books(x=2, y=1), by_host) == [0, 33, 100]
    by_zone = Spread(ZONE, 1, chosen({"matchLabels": APP}))
    assert scored(books(x=2, y=1), by_zone) == [0, 0, 100]
    assert scored(books(), by_host) == [100, 100, 100]


def test_nodes_without_a_key_are_last_unless_the_constraints_are_defaults() -> None:
    found = books(x=1)
    found.node("other", labels={})
    among = chosen({"matchLabels": APP})
    constraints = [Spread(key, skew, among) for key, skew in DEFAULTS]
    assert scored(found, *constraints)[0] == 0
    assert scored(found, *constraints, requires_keys=False)[0] > 0
