"""Pods as clusters have them: a server with a sidecar, as a controller creates it and a kubelet
reports it. With what the API server adds, each is about 8 kB of JSON."""

from typing import Any

LAST = "bench.intact.dev/last"
"""The label that the last update sets."""

NAMESPACES = 20
NODES = 500
_PODS_PER_OWNER = 8
_NOW = "2025-01-01T00:00:00Z"


def place(number: int) -> tuple[str, str]:
    """Namespace and name of a pod."""
    owner, ordinal = divmod(number, _PODS_PER_OWNER)
    return f"team-{owner % NAMESPACES}", f"llm-decode-{owner}-{ordinal}"


def pod(number: int) -> dict[str, Any]:
    namespace, name = place(number)
    owner = number // _PODS_PER_OWNER
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/name": "llm-decode",
                "app.kubernetes.io/instance": f"llm-decode-{owner}",
                "app.kubernetes.io/part-of": "inference",
                "apps.kubernetes.io/pod-index": str(number % _PODS_PER_OWNER),
                "controller-revision-hash": f"llm-decode-{owner}-6d8f9c7b54",
                "statefulset.kubernetes.io/pod-name": name,
            },
            "annotations": {
                "kubectl.kubernetes.io/restartedAt": _NOW,
                "checksum/config": f"{number:064x}",
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "StatefulSet",
                    "name": f"llm-decode-{owner}",
                    "uid": f"00000000-0000-4000-8000-{owner:012x}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "nodeName": f"node-{number % NODES}",
            "terminationGracePeriodSeconds": 120,
            "containers": [_server(), _sidecar()],
            "volumes": [
                {"name": "config", "configMap": {"name": f"llm-decode-{owner}"}},
            ],
        },
    }


def _server() -> dict[str, Any]:
    return {
        "name": "server",
        "image": "registry.example.com/inference/server:v1.42.0",
        "args": ["--model=/model", "--port=8000", "--tensor-parallel-size=8"],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LEADER", "value": "llm-decode-0.llm-decode"},
        ],
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": "16", "memory": "128Gi", "nvidia.com/gpu": "8"},
            "limits": {"memory": "128Gi", "nvidia.com/gpu": "8"},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/server"},
        ],
    }


def _sidecar() -> dict[str, Any]:
    return {
        "name": "proxy",
        "image": "registry.example.com/mesh/proxy:v1.20.3",
        "args": ["--admin-port=9901"],
        "env": [{"name": "CLUSTER", "value": "prod-1"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/proxy"}],
    }


def status(number: int) -> dict[str, Any]:
    """As a kubelet reports it for a pod that runs."""
    ip = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return {
        "phase": "Running",
        "startTime": _NOW,
        "hostIP": "10.255.0.1",
        "hostIPs": [{"ip": "10.255.0.1"}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "qosClass": "Burstable",
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": _NOW}
            for kind in (
                "PodReadyToStartContainers",
                "Initialized",
                "Ready",
                "ContainersReady",
                "PodScheduled",
            )
        ],
        "containerStatuses": [_container(_server(), number), _container(_sidecar(), number)],
    }


def _container(spec: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "name": spec["name"],
        "image": spec["image"],
        "imageID": f"{spec['image'].partition(':')[0]}@sha256:{7:064x}",
        "containerID": f"containerd://{number:064x}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": _NOW}},
    }


def readiness(turn: int) -> dict[str, Any]:
    """A change that a kubelet makes: to not ready in even turns, back to ready in odd ones."""
    ready = turn % 2 == 1
    condition = {
        "status": str(ready),
        "lastTransitionTime": f"2025-01-02T00:{turn // 60 % 60:02}:{turn % 60:02}Z",
        "reason": None if ready else "ContainersNotReady",
    }
    return {
        "conditions": [
            {"type": "Ready"} | condition,
            {"type": "ContainersReady"} | condition,
        ]
    }
