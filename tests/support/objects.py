"""Objects and resources that tests make, as plain dicts."""

from typing import Any

from intact.kube.resources import untyped

Json = dict[str, Any]

CONFIGMAPS = untyped("", "v1", "configmaps", "ConfigMap")
PODS = untyped("", "v1", "pods", "Pod")
NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
DEPLOYMENTS = untyped("apps", "v1", "deployments", "Deployment")
PDBS = untyped("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
SERVICE_ACCOUNTS = untyped("", "v1", "serviceaccounts", "ServiceAccount")
CRDS = untyped(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
WIDGETS = untyped("contract.intact.dev", "v1", "widgets", "Widget")


def configmap(name: str, data: dict[str, str] | None = None, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": data or {},
    }


def widget(name: str, size: int = 1, **metadata: Any) -> Json:
    return {
        "apiVersion": WIDGETS.api_version,
        "kind": WIDGETS.kind,
        "metadata": {"name": name, **metadata},
        "spec": {"size": size},
    }


def pod(
    name: str, *, node: str = "", images: dict[str, str] | None = None, **metadata: Any
) -> Json:
    containers = [
        {"name": container, "image": image}
        for container, image in (images or {"main": "registry.example/main:1"}).items()
    ]
    spec: Json = {"containers": containers}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def deployment(name: str, replicas: int = 1, image: str = "registry.example/main:1") -> Json:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def widget_definition() -> Json:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": WIDGETS.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": schema, "status": schema},
            }
        },
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": WIDGETS.full_name},
        "spec": {
            "group": WIDGETS.group,
            "scope": "Namespaced",
            "names": {"plural": WIDGETS.plural, "singular": "widget", "kind": WIDGETS.kind},
            "versions": [version],
        },
    }
