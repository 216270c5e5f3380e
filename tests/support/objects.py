"""Objects that tests create, as plain dicts, and their resources."""

from typing import Any

from intact.kube.resources import Resource, untyped

Json = dict[str, Any]

CONFIGMAPS = untyped("", "v1", "configmaps", "ConfigMap")
PODS = untyped("", "v1", "pods", "Pod")
NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
DEPLOYMENTS = untyped("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")
DAEMON_SETS = untyped("apps", "v1", "daemonsets", "DaemonSet")
CONTROLLER_REVISIONS = untyped("apps", "v1", "controllerrevisions", "ControllerRevision")
JOBS = untyped("batch", "v1", "jobs", "Job")
REPLICATION_CONTROLLERS = untyped("", "v1", "replicationcontrollers", "ReplicationController")
STATEFUL_SETS = untyped("apps", "v1", "statefulsets", "StatefulSet")
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
SLOW_PROBE = {"initialDelaySeconds": 1, "exec": {"command": ["true"]}}
"""A container with this readiness probe is ready a second after its start."""


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


def replica_set(name: str, replicas: int = 1, **spec: Any) -> Json:
    body = deployment(name, replicas)
    body["kind"] = "ReplicaSet"
    body["spec"] |= spec
    return body


def replication_controller(name: str, replicas: int = 1) -> Json:
    body = deployment(name, replicas)
    body |= {"apiVersion": "v1", "kind": "ReplicationController"}
    del body["spec"]["selector"]  # that of its pods' labels
    return body


def stateful_set(name: str, replicas: int = 1, **spec: Any) -> Json:
    body = deployment(name, replicas)
    body["kind"] = "StatefulSet"
    body["spec"] |= {"serviceName": name, **spec}
    return body


def daemon_set(name: str, **spec: Any) -> Json:
    body = deployment(name)
    body["kind"] = "DaemonSet"
    del body["spec"]["replicas"]
    body["spec"] |= spec
    return body


def spread_stateful_set(name: str, replicas: int, key: str, labels: dict[str, str]) -> Json:
    """One group of pods: all have `labels`, and `key` with the name of the set. Each of the nodes
    that are not cordoned holds as many of them. They are ready a second after their start."""
    mine = {key: name}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": mine},
    }
    container = {"name": "main", "image": "registry.example/main:1", "readinessProbe": SLOW_PROBE}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": mine},
            "template": {
                "metadata": {"labels": labels | mine},
                "spec": {"containers": [container], "topologySpreadConstraints": [spread]},
            },
        },
    }


def definition(resource: Resource[Any], *, scale: bool = False) -> Json:
    """A CRD for this resource, with any spec and status; with `scale`, also the scale subresource
    of `spec.replicas`."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    properties = {"spec": anything, "status": anything}
    subresources: Json = {"status": {}}
    if scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
        }
    metadata: Json = {"name": resource.full_name}
    if resource.group.endswith(".x-k8s.io"):
        # The API server asks this of the groups that belong to Kubernetes.
        approved = {"api-approved.kubernetes.io": "https://example.test/approved"}
        metadata["annotations"] = approved
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "kind": resource.kind,
            },
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                    "subresources": subresources,
                }
            ],
        },
    }
