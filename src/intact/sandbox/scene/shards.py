"""Three shards of three pods, as API objects."""

from collections.abc import Callable
from typing import Any

LABELS = {"app": "llm"}
GROUP_KEY = "shard"
SHARDS = tuple(f"shard-{number}" for number in range(3))
PODS_EACH = 3

Json = dict[str, Any]


def namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def stateful_set(shard: str, slowed: Callable[[Json], Json]) -> Json:
    """One shard. Every node holds pods of every shard: any drain meets all shards."""
    labels = {**LABELS, GROUP_KEY: shard}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [{"name": "model", "image": "example.org/llm:1"}],
            "topologySpreadConstraints": [_spread(labels)],
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": shard, "labels": labels},
        "spec": {
            "replicas": PODS_EACH,
            "podManagementPolicy": "Parallel",
            "serviceName": shard,
            "selector": {"matchLabels": labels},
            "template": slowed(template),
        },
    }


def _spread(labels: dict[str, str]) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
        # Pods are not spread over a node that is being drained.
        "nodeTaintsPolicy": "Honor",
    }
