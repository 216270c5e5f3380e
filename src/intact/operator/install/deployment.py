"""The Deployment of Intact.

In the network of the nodes two replicas cannot share a node: their ports are those of the node. A
new replica then waits for a node that an old one has left, so the old one goes first.
"""

from typing import Any

import msgspec

from intact import __version__
from intact.operator.install.labels import OPERATOR_COMPONENT, labels_of
from intact.operator.install.settings import NO_PRIORITY_CLASS, Limits, Requests, Settings
from intact.operator.names import LABELS, OPERATOR, WEBHOOK_SERVICE

Json = dict[str, Any]


def deployment(settings: Settings, namespace: str) -> Json:
    alone = settings.webhook.host_network
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": OPERATOR, "namespace": namespace, "labels": dict(LABELS)},
        "spec": {
            "replicas": settings.replicas,
            "selector": {"matchLabels": dict(LABELS)},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {
                    "maxUnavailable": 1 if alone else 0,
                    "maxSurge": 0 if alone else 1,
                },
            },
            "template": {
                "metadata": {"labels": labels_of(OPERATOR_COMPONENT, settings.labels)},
                "spec": _pod(settings, namespace),
            },
        },
    }


def image_of(settings: Settings) -> str:
    return settings.image or f"{OPERATOR}:{__version__}"


def _pod(settings: Settings, namespace: str) -> Json:
    on_another_node = {
        "weight": 100,
        "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": dict(LABELS)},
        },
    }
    pod: Json = {
        "serviceAccountName": OPERATOR,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [on_another_node]
            }
        },
        "terminationGracePeriodSeconds": 45,
        "containers": [_container(settings, namespace)],
    }
    # Where there are budgets, no pod is evicted or deleted without Intact.
    if settings.priority_class != NO_PRIORITY_CLASS:
        pod["priorityClassName"] = settings.priority_class
    if settings.webhook.host_network:
        pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if settings.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    if settings.node_selector:
        pod["nodeSelector"] = dict(settings.node_selector)
    if settings.tolerations:
        pod["tolerations"] = msgspec.to_builtins(list(settings.tolerations))
    return pod


def _container(settings: Settings, namespace: str) -> Json:
    webhook, http = settings.webhook.port, settings.metrics.port
    args = [
        "run",
        f"--http-bind=:{http}",
        f"--webhook-bind=:{webhook}",
        f"--webhook-service={namespace}/{WEBHOOK_SERVICE}",
        f"--controllers={','.join(settings.controllers)}",
        f"--log-format={settings.log.format}",
        f"--log-level={settings.log.level}",
    ]
    if settings.namespace_selector:
        args.append(f"--namespace-selector={settings.namespace_selector}")
    ports: list[Json] = [
        {"name": "http", "containerPort": http},
        {"name": "webhook", "containerPort": webhook},
    ]
    if settings.webhook.host_network:
        # The API server would set them; stated, the scheduler's reason can be seen.
        ports = [port | {"hostPort": port["containerPort"]} for port in ports]
    return {
        "name": OPERATOR,
        "image": image_of(settings),
        "imagePullPolicy": settings.image_pull_policy,
        "command": ["intact"],
        "args": args,
        "ports": ports,
        "livenessProbe": _probe("/healthz", periodSeconds=10, failureThreshold=6),
        "readinessProbe": _probe("/readyz", periodSeconds=2),
        # The API server may still send reviews here until it knows that the pod is terminating.
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "resources": {
            "requests": _amounts(settings.resources.requests),
            "limits": _amounts(settings.resources.limits),
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


def _amounts(given: Requests | Limits) -> Json:
    return {name: amount for name, amount in msgspec.to_builtins(given).items() if amount}


def _probe(path: str, **settings: int) -> Json:
    return {"httpGet": {"path": path, "port": "http"}, **settings}
