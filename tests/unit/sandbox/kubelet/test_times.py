"""Whose start times a pod has."""

from typing import Any

from intact.sandbox.kubelet.times import workload_of

Json = dict[str, Any]


def owned(kind: str = "", name: str = "", api: str = "apps/v1") -> Json:
    meta: Json = {"name": "x", "namespace": "ns"}
    if kind:
        owner = {"apiVersion": api, "kind": kind, "name": name, "uid": "u", "controller": True}
        meta["ownerReferences"] = [owner]
    return {"metadata": meta}


OBJECTS = {
    ("replicasets.apps", "ns", "web-1"): owned("Deployment", "web"),
    ("deployments.apps", "ns", "web"): owned(),
    ("statefulsets.apps", "ns", "lone"): owned(),
    ("replicasets.apps", "ns", "odd"): owned("Rollout", "r", "argoproj.io/v1alpha1"),
}
SERVED = {kind for kind, _, _ in OBJECTS}


def peek(kind: str, namespace: str, name: str) -> Json | None:
    if kind not in SERVED:
        raise KeyError(kind)
    return OBJECTS.get((kind, namespace, name))


def test_the_workload_is_the_uppermost_controller() -> None:
    assert workload_of(owned("ReplicaSet", "web-1"), peek) == "Deployment/ns/web"
    assert workload_of(owned("StatefulSet", "lone"), peek) == "StatefulSet/ns/lone"
    assert workload_of(owned("ReplicaSet", "odd"), peek) == "Rollout/ns/r"
    assert workload_of(owned("ReplicaSet", "gone"), peek) == "ReplicaSet/ns/gone"
    assert workload_of(owned(), peek) == ""
