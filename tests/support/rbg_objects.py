"""RoleBasedGroups for tests, as JSON."""

from typing import Any

Json = dict[str, Any]


def template(image: str = "engine:1", **spec: Any) -> Json:
    return {"spec": {"containers": [{"name": "engine", "image": image}], **spec}}


def role(name: str, replicas: int | None = 1, *, image: str = "engine:1", **rest: Any) -> Json:
    found: Json = {"name": name, "template": template(image), **rest}
    return found if replicas is None else {**found, "replicas": replicas}


def kind(name: str) -> Json:
    group = "leaderworkerset.x-k8s.io/v1" if name == "LeaderWorkerSet" else "apps/v1"
    return {"workload": {"apiVersion": group, "kind": name}}


def group(name: str, *roles: Json, **spec: Any) -> Json:
    return {
        "apiVersion": "workloads.x-k8s.io/v1alpha1",
        "kind": "RoleBasedGroup",
        "metadata": {"name": name},
        "spec": {"roles": list(roles), **spec},
    }


def rolling(*roles: str, name: str = "together", **strategy: str | int) -> Json:
    return {"name": name, "type": "RollingUpdate", "roles": list(roles), "strategy": strategy}


def batches(ratios: dict[str, int], mode: str = "Sequential", **rest: Any) -> Json:
    rules = {"topologyKey": "kubernetes.io/hostname", "ratios": ratios, "batchMode": mode, **rest}
    return {
        "name": "batched",
        "type": "AffinityScheduling",
        "roles": list(ratios),
        "strategy": {"affinityScheduling": rules},
    }
