"""Which nodes a DaemonSet wants."""

from typing import Any

import pytest

from intact.sandbox.controllers.daemon_sets.nodes import Verdict, new_pod, target, verdict
from tests.support.objects import Json, daemon_set

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def body(**spec: Any) -> Json:
    whole = daemon_set("w")
    whole["metadata"] |= {"namespace": "n", "uid": "u"}
    whole["spec"]["template"]["spec"] |= spec
    return whole


def node(*taints: tuple[str, str], **labels: str) -> Json:
    found = [{"key": key, "effect": effect} for key, effect in taints]
    return {"metadata": {"name": "a", "labels": labels}, "spec": {"taints": found}}


def affinity(key: str, value: str) -> Json:
    wanted = {"key": key, "operator": "In", "values": [value]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return {"nodeAffinity": {REQUIRED: terms}}


TOLERATION = {"key": "mine", "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("whole", "here", "runs", "stays"),
    [
        (body(), node(), True, True),
        (body(nodeName="a"), node(), True, True),
        (body(nodeName="b"), node(), False, False),
        (body(nodeSelector={"disk": "fast"}), node(disk="fast"), True, True),
        (body(nodeSelector={"disk": "fast"}), node(disk="slow"), False, False),
        (body(affinity=affinity("disk", "fast")), node(disk="fast"), True, True),
        (body(affinity=affinity("disk", "fast")), node(), False, False),
        (body(), node(("mine", "NoSchedule")), False, True),
        (body(), node(("mine", "NoExecute")), False, False),
        (body(), node(("mine", "PreferNoSchedule")), True, True),
        (body(tolerations=[TOLERATION]), node(("mine", "NoExecute")), True, True),
        (body(), node(("node.kubernetes.io/unschedulable", "NoSchedule")), True, True),
        (body(), node(("node.kubernetes.io/not-ready", "NoExecute")), True, True),
        (body(), node(("node.kubernetes.io/not-ready", "NoSchedule")), False, True),
        (body(), node(("node.kubernetes.io/network-unavailable", "NoSchedule")), False, True),
        (
            body(hostNetwork=True),
            node(("node.kubernetes.io/network-unavailable", "NoSchedule")),
            True,
            True,
        ),
    ],
)
def test_a_node_is_selected_and_tolerated(whole: Json, here: Json, runs: bool, stays: bool) -> None:
    assert verdict(whole, here) == Verdict(runs, stays)


def test_a_pod_is_pinned_and_keeps_what_else_its_template_wants() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    wanted = affinity("disk", "fast")
    wanted["nodeAffinity"] |= preferred
    whole = body(affinity=wanted, tolerations=[TOLERATION])
    pod = new_pod(whole, "abc", "a")
    assert target(pod) == "a"
    assert pod["spec"]["affinity"]["nodeAffinity"] == preferred | {
        REQUIRED: {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
            ]
        }
    }
    assert pod["spec"]["tolerations"][0] == TOLERATION
    assert pod["metadata"]["labels"] == {"app": "w", "controller-revision-hash": "abc"}
    pod["spec"]["nodeName"] = "b"
    assert target(pod) == "b"
    assert target({"spec": {}}) == ""
