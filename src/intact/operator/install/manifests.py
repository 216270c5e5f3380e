"""Everything that a cluster needs to run Intact, as objects. The chart has the same.

The webhook registration is not among them: it carries the CA, so the leader writes it.
"""

from typing import Any

from msgspec.structs import replace

from intact.operator.install.deployment import deployment
from intact.operator.install.install import definitions_of
from intact.operator.install.labels import labelled
from intact.operator.install.rbac import access
from intact.operator.install.settings import CRITICAL, Metrics, ServiceMonitor, Settings
from intact.operator.install.user_roles import user_roles
from intact.operator.names import (
    HTTP_PORT,
    LABELS,
    METRICS_SERVICE,
    NAMESPACE,
    OPERATOR,
    WEBHOOK_SERVICE,
)

Json = dict[str, Any]

_OF_KUBERNETES = ("default", "kube-node-lease", "kube-public", "kube-system")
"""Namespaces that every cluster has: other pods there may not meet our level of Pod Security."""
_ALLOWED_ANYWAY = "kube-system"
"""Where critical pods are always allowed, and a quota would count those of others."""
_MOST_PODS = "1k"
"""Of the quota, which only allows the priority class: more than there will ever be."""


def manifests(settings: Settings, *, namespace: str = NAMESPACE) -> list[Json]:
    """In an order in which they can be created one after another. Without addresses of API servers
    every address may reach the webhooks: where the API server is, is not known."""
    found = [] if namespace in _OF_KUBERNETES else [_namespace(namespace, settings)]
    found += [
        *definitions_of(settings.controllers),
        *access(namespace, settings.controllers),
        *user_roles(),
        _service(WEBHOOK_SERVICE, namespace, "webhook", 443),
        _service(METRICS_SERVICE, namespace, "http", HTTP_PORT),
        _budget(namespace),
    ]
    if settings.network_policy.enabled and not settings.webhook.host_network:
        found.append(_network_policy(namespace, settings))
    if settings.priority_class in CRITICAL and namespace != _ALLOWED_ANYWAY:
        found.append(_quota(namespace, settings.priority_class))
    if settings.metrics.service_monitor.enabled:
        found.append(_service_monitor(namespace, settings.metrics.service_monitor))
    found.append(deployment(settings, namespace))
    return [labelled(each, settings.labels) for each in found]


def everything(namespace: str) -> list[Json]:
    """All objects that there are with some settings."""
    monitored = Metrics(service_monitor=ServiceMonitor(enabled=True))
    return manifests(replace(Settings(), metrics=monitored), namespace=namespace)


def pod_security_level(settings: Settings) -> str:
    """The level of Pod Security that the pods meet."""
    return "privileged" if settings.webhook.host_network else "restricted"


def _namespace(name: str, settings: Settings) -> Json:
    level = pod_security_level(settings)
    levels = {f"pod-security.kubernetes.io/{mode}": level for mode in ("enforce", "warn")}
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


def _network_policy(namespace: str, settings: Settings) -> Json:
    """Nothing but the two ports. Kubelets reach the pods of their node in any case."""
    webhook: Json = {"ports": [{"protocol": "TCP", "port": "webhook"}]}
    if cidrs := settings.network_policy.api_server_cidrs:
        webhook["from"] = [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]
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


def _quota(namespace: str, priority_class: str) -> Json:
    """Clusters such as GKE's refuse critical pods outside kube-system, unless a quota of their
    namespace speaks of their priority class."""
    of_the_class = {
        "scopeName": "PriorityClass",
        "operator": "In",
        "values": [priority_class],
    }
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": _metadata(OPERATOR, namespace),
        "spec": {
            "hard": {"pods": _MOST_PODS},
            "scopeSelector": {"matchExpressions": [of_the_class]},
        },
    }


def _service_monitor(namespace: str, settings: ServiceMonitor) -> Json:
    metadata = _metadata(OPERATOR, namespace)
    metadata["labels"] |= settings.labels
    endpoint = {
        "port": "http",
        "path": "/metrics",
        "interval": settings.interval,
        # `namespace` is that of a budget, and must not become `exported_namespace`.
        "honorLabels": True,
    }
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": dict(LABELS)},
            "endpoints": [endpoint],
        },
    }
