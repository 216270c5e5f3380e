"""Everything that a cluster needs to run Intact, as objects.

The webhook registration is not among them: it carries the CA, so the leader writes it.
"""

from collections.abc import Sequence
from typing import Any

from intact.operator.install.install import definitions_of
from intact.operator.install.rbac import access
from intact.operator.install.user_roles import user_roles
from intact.operator.names import (
    DEFAULT_CONTROLLERS,
    HTTP_PORT,
    LABELS,
    METRICS_SERVICE,
    NAMESPACE,
    OPERATOR,
    WEBHOOK_PORT,
    WEBHOOK_SERVICE,
)

Json = dict[str, Any]


MEMORY_LIMIT = "1Gi"
"""For 50,000 pods, with strangers at all places of the webhook port; docs/install.md has more."""


def manifests(
    *,
    namespace: str = NAMESPACE,
    image: str,
    replicas: int = 2,
    memory_limit: str = MEMORY_LIMIT,
    api_server_cidrs: Sequence[str] = (),
    controllers: Sequence[str] = DEFAULT_CONTROLLERS,
) -> list[Json]:
    """In an order in which they can be created one after another. Without `api_server_cidrs` every
    address may reach the webhooks: where the API server is, is not known."""
    return [
        _namespace(namespace),
        *definitions_of(controllers),
        *access(namespace, controllers),
        *user_roles(),
        _service(WEBHOOK_SERVICE, namespace, "webhook", 443),
        _service(METRICS_SERVICE, namespace, "http", HTTP_PORT),
        _network_policy(namespace, api_server_cidrs),
        _budget(namespace),
        _deployment(namespace, image, replicas, memory_limit, controllers),
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


def _network_policy(namespace: str, api_server_cidrs: Sequence[str]) -> Json:
    """Nothing but the two ports. Kubelets reach the pods of their node in any case."""
    webhook: Json = {"ports": [{"protocol": "TCP", "port": "webhook"}]}
    if api_server_cidrs:
        webhook["from"] = [{"ipBlock": {"cidr": cidr}} for cidr in api_server_cidrs]
    pages = {
        "ports": [{"protocol": "TCP", "port": "http"}],
        "from": [{"namespaceSelector": {}}],
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(OPERATOR, namespace),
        "spec": {
            "podSelector": {"matchLabels": dict(LABELS)},
            "policyTypes": ["Ingress"],
            "ingress": [webhook, pages],
        },
    }


def _budget(namespace: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(OPERATOR, namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(LABELS)}},
    }


def _deployment(
    namespace: str, image: str, replicas: int, memory_limit: str, controllers: Sequence[str]
) -> Json:
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
            "template": {
                "metadata": {"labels": dict(LABELS)},
                "spec": _pod(namespace, image, memory_limit, controllers),
            },
        },
    }


def _pod(namespace: str, image: str, memory_limit: str, controllers: Sequence[str]) -> Json:
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
        "containers": [_container(namespace, image, memory_limit, controllers)],
    }


def _container(namespace: str, image: str, memory_limit: str, controllers: Sequence[str]) -> Json:
    return {
        "name": OPERATOR,
        "image": image,
        "command": ["intact"],
        "args": [
            "run",
            f"--http-bind=0.0.0.0:{HTTP_PORT}",
            f"--webhook-bind=0.0.0.0:{WEBHOOK_PORT}",
            f"--webhook-service={namespace}/{WEBHOOK_SERVICE}",
            f"--controllers={','.join(controllers)}",
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
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"memory": memory_limit},
        },
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
