"""What the operator may do in a cluster: no more than it needs.

The kinds of workloads that a `targetRef` may name are not known beforehand. The operator may read
the scale of every kind. To let it also list and watch a kind, add a ClusterRole with the label that
the ClusterRole `intact-owners` aggregates.
"""

from typing import Any

from intact.operator.install.foreign import CONTROLLER_OF
from intact.operator.names import LABELS, LEASE, OPERATOR
from intact.operator.webhook import certificates, configuration

Json = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
OWNERS_ROLE = "intact-owners"
OWNERS_LABEL = "intact.dev/aggregate-to-owners"
FOLLOW = ["list", "watch"]
READ = ["get", *FOLLOW]
APPLY = ["create", "patch"]
WRITE = [*APPLY, "delete"]
REGISTRATIONS = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]


def access(namespace: str) -> list[Json]:
    """The account, its roles and their bindings."""
    return [
        _object("v1", "ServiceAccount", OPERATOR, namespace),
        _role("ClusterRole", OPERATOR, "", _cluster_rules()),
        {
            **_object(f"{RBAC}/v1", "ClusterRole", OWNERS_ROLE, ""),
            "aggregationRule": {
                "clusterRoleSelectors": [{"matchLabels": {OWNERS_LABEL: "true"}}],
            },
        },
        _role("Role", OPERATOR, namespace, _own_rules()),
        _binding("ClusterRoleBinding", OPERATOR, OPERATOR, namespace),
        _binding("ClusterRoleBinding", OWNERS_ROLE, OWNERS_ROLE, namespace),
        _binding("RoleBinding", OPERATOR, OPERATOR, namespace),
    ]


def _cluster_rules() -> list[Json]:
    return [
        _rule("", ["pods", "replicationcontrollers"], READ),
        # The label that makes the API server ask the gate about a namespace's pods.
        _rule("", ["namespaces"], [*FOLLOW, "patch"]),
        _rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], READ),
        _rule("batch", ["jobs"], READ),
        _rule("*", ["*/scale"], ["get"]),
        # Who it is itself: by that it knows its own status writes.
        _rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
        # What a RoleBasedGroup owns: server-side apply is a patch, which also creates.
        _rule("apps", ["deployments", "statefulsets"], WRITE),
        _rule("apps", ["controllerrevisions"], [*READ, *WRITE]),
        _rule("", ["services"], [*READ, *WRITE]),
        _rule("", ["configmaps"], [*READ, *APPLY]),
        _rule("workloads.x-k8s.io", ["rolebasedgroups"], [*READ, "patch"]),
        _rule("workloads.x-k8s.io", ["rolebasedgroups/status"], ["update"]),
        # Its finalizers: for owner references that block its deletion.
        _rule("workloads.x-k8s.io", ["rolebasedgroups/finalizers"], ["update"]),
        _rule("workloads.x-k8s.io", ["rolebasedgroupscalingadapters"], [*READ, *WRITE]),
        _rule("workloads.x-k8s.io", ["rolebasedgroupscalingadapters/status"], ["patch"]),
        _rule("leaderworkerset.x-k8s.io", ["leaderworkersets"], [*READ, *WRITE]),
        # The label with the revision, which routers read on a pod.
        _rule("", ["pods"], ["patch"]),
        _rule("policy.kruise.io", ["podunavailablebudgets"], READ),
        _rule("policy.kruise.io", ["podunavailablebudgets/status"], ["update"]),
        _rule("policy", ["poddisruptionbudgets"], READ),
        _rule("policy", ["poddisruptionbudgets/status"], ["patch"]),
        # To clear the condition DisruptionTarget of pods that were not evicted after all.
        _rule("", ["pods/status"], ["patch"]),
        _rule("scheduling.k8s.io", ["podgroups", "workloads"], FOLLOW),
        # For rollouts; and, as a dry run, to find out whether a namespace's pods are gated.
        _rule("", ["pods/eviction"], ["create"]),
        _rule("", ["events"], ["create", "patch"]),
        # Whose definitions these are: another product may have kinds of the same names.
        {
            **_rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"]),
            "resourceNames": sorted(CONTROLLER_OF),
        },
        # RBAC cannot restrict creation to a name: the object has none yet.
        _rule("admissionregistration.k8s.io", REGISTRATIONS, ["create"]),
        {
            **_rule("admissionregistration.k8s.io", REGISTRATIONS, [*READ, "update"]),
            "resourceNames": [configuration.NAME],
        },
    ]


def _own_rules() -> list[Json]:
    return [
        _rule("coordination.k8s.io", ["leases"], ["create"]),
        {
            **_rule("coordination.k8s.io", ["leases"], [*READ, "update"]),
            "resourceNames": [LEASE],
        },
        _rule("", ["secrets"], ["create"]),
        {
            **_rule("", ["secrets"], ["get", "update", "delete"]),
            "resourceNames": [certificates.SECRET],
        },
    ]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Json:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _object(api_version: str, kind: str, name: str, namespace: str) -> Json:
    metadata: Json = {"name": name, "labels": dict(LABELS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _role(kind: str, name: str, namespace: str, rules: list[Json]) -> Json:
    return {**_object(f"{RBAC}/v1", kind, name, namespace), "rules": rules}


def _binding(kind: str, name: str, role: str, namespace: str) -> Json:
    in_namespace = namespace if kind == "RoleBinding" else ""
    return {
        **_object(f"{RBAC}/v1", kind, name, in_namespace),
        "roleRef": {
            "apiGroup": RBAC,
            "kind": kind.removesuffix("Binding"),
            "name": role,
        },
        "subjects": [{"kind": "ServiceAccount", "name": OPERATOR, "namespace": namespace}],
    }
