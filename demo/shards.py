"""Four shards of four pods, as API objects."""

from typing import Any

NAMESPACE = "llm"
LABELS = {"app": "llm"}
GROUP_KEY = "shard"
SHARDS = tuple(f"shard-{number}" for number in range(4))
PODS_EACH = 4

Json = dict[str, Any]


def namespace() -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def stateful_set(shard: str) -> Json:
    """One shard. Its pods take a while to terminate and to become ready, so that people see both,
    but less than the five seconds after which kubectl retries a refused eviction."""
    labels = {**LABELS, GROUP_KEY: shard}
    container = {
        "name": "model",
        "image": "example.org/llm:1",
        "readinessProbe": {"tcpSocket": {"port": 8000}, "initialDelaySeconds": 2},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": shard, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": PODS_EACH,
            "podManagementPolicy": "Parallel",
            "serviceName": shard,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": {"devcluster.intact.dev/termination-delay": "500ms"},
                },
                "spec": {
                    "containers": [container],
                    "topologySpreadConstraints": [
                        # Every node holds pods of every shard: any drain meets all shards.
                        _spread(labels, "DoNotSchedule"),
                        _spread(LABELS, "ScheduleAnyway"),
                    ],
                },
            },
        },
    }


def _spread(labels: dict[str, str], otherwise: str) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": otherwise,
        "labelSelector": {"matchLabels": labels},
        # Pods are not spread over a node that is being drained.
        "nodeTaintsPolicy": "Honor",
    }
