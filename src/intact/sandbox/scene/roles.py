"""A RoleBasedGroup of two roles that roll out together."""

from collections.abc import Callable
from typing import Any

from intact.sandbox.kubelet.annotations import UNREADY

NAMESPACE = "llm"
GROUP = "llm"
ROLES = {"prefill": 8, "decode": 4}
LIMIT = "25%"
_IMAGE = "example.org/llm:1"

Json = dict[str, Any]


def group(slowed: Callable[[Json], Json]) -> Json:
    return {
        "apiVersion": "workloads.x-k8s.io/v1alpha1",
        "kind": "RoleBasedGroup",
        "metadata": {"name": GROUP, "namespace": NAMESPACE},
        "spec": {
            "roles": [
                {"name": name, "replicas": replicas, "template": template(_IMAGE, slowed)}
                for name, replicas in ROLES.items()
            ],
            "coordination": [
                {
                    "name": "together",
                    "type": "RollingUpdate",
                    "roles": list(ROLES),
                    "strategy": {"maxSkew": LIMIT, "maxUnavailableRatio": LIMIT},
                }
            ],
            "progressDeadlineSeconds": 8,
        },
    }


def template(image: str, slowed: Callable[[Json], Json], *, broken: bool = False) -> Json:
    """The pods of a broken one never become ready."""
    metadata = {"annotations": {UNREADY: "true"}} if broken else {}
    container = {"name": "engine", "image": image}
    return slowed({"metadata": metadata, "spec": {"containers": [container]}})
