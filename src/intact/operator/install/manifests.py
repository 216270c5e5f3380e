"""Everything that a cluster needs to run Intact, as objects.

The webhook registration is not among them: it carries the CA, so the leader writes it.
"""

from typing import Any

from intact.operator.install.crds import definitions
from intact.operator.install.rbac import access
from intact.operator.names import (
    HTTP_PORT,
    LABELS,
    METRICS_SERVICE,
    NAMESPACE,
    OPERATOR,
    WEBHOOK_PORT,
    WEBHOOK_SERVICE,
)

Json = dict[str, Any]


def manifests(*, namespace: str = NAMESPACE, image: str, replicas: int = 2) -> list[Json]:
    """In an order in which they can be created one after another."""
    return [
        _namespace(namespace),
        *definitions(),
        *access(namespace),
        _service(WEBHOOK_SERVICE, namespace, "webhook", 443),
        _service(METRICS_SERVICE, namespace, "http", HTTP_PORT),
        _budget(namespace),
        _deployment(namespace, image, replicas),
    ]


def _namespace(name: str) -> Json:
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": LABELS | levels},
    }


def _metadata(name: str, namespace: str) -> Json:
    return {"name": name, "namespace": namespace, "labels": dict(LABELS)}


def _service(name: str, namespace: str, port_name: str, port: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name, namespace),
        "spec": {
            "selector": dict(LABELS),
            "ports": [{"name": port_name, "port": port, "targetPort": port_name}],
        },
    }


def _budget(namespace: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(OPERATOR, namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(LABELS)}},
    }


def _deployment(namespace: str, image: str, replicas: int) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(OPERATOR, namespace),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": dict(LABELS)},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
            },
            "template": {"metadata": {"labels": dict(LABELS)}, "spec": _pod(namespace, image)},
        },
    }


def _pod(namespace: str, image: str) -> Json:
    on_another_node = {
        "weight": 100,
        "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": dict(LABELS)},
        },
    }
    return {
        "serviceAccountName": OPERATOR,
        # Where there are budgets, no pod is evicted or deleted without Intact.
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [on_another_node]
            }
        },
        "terminationGracePeriodSeconds": 45,
        "containers": [_container(namespace, image)],
    }


def _container(namespace: str, image: str) -> Json:
    return {
        "name": OPERATOR,
        "image": image,
        "command": ["intact"],
        "args": [
            "run",
            f"--http-bind=0.0.0.0:{HTTP_PORT}",
            f"--webhook-bind=0.0.0.0:{WEBHOOK_PORT}",
            f"--webhook-service={namespace}/{WEBHOOK_SERVICE}",
            "--log-format=json",
        ],
        "ports": [
            {"name": "http", "containerPort": HTTP_PORT},
            {"name": "webhook", "containerPort": WEBHOOK_PORT},
        ],
        "livenessProbe": _probe("/healthz", periodSeconds=10, failureThreshold=6),
        "readinessProbe": _probe("/readyz", periodSeconds=2),
        # The API server may still send reviews here until it knows that the pod is terminating.
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            # For images that do not name their user.
            "runAsUser": 65532,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str, **settings: int) -> Json:
    return {"httpGet": {"path": path, "port": "http"}, **settings}
