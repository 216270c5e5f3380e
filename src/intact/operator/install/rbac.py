"""What the operator may do in a cluster: no more than the chosen controllers need.

The kinds of workloads that a `targetRef` may name are not known beforehand. The operator may read
the scale of every kind. To let it also list and watch a kind, add a ClusterRole with the label that
the ClusterRole `intact-owners` aggregates.
"""

from collections.abc import Collection, Sequence
from typing import Any

from intact.operator.install.foreign import CONTROLLER_OF
from intact.operator.names import (
    CONTROLLERS,
    DEFAULT_CONTROLLERS,
    LABELS,
    LEASE,
    NAMESPACE,
    OPERATOR,
)
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


def access(namespace: str, controllers: Collection[str] = DEFAULT_CONTROLLERS) -> list[Json]:
    """The account, its roles and their bindings, for the chosen controllers."""
    return [
        _object("v1", "ServiceAccount", OPERATOR, namespace),
        _role("ClusterRole", OPERATOR, "", cluster_rules(controllers)),
        {
            **_object(f"{RBAC}/v1", "ClusterRole", OWNERS_ROLE, ""),
            "aggregationRule": {
                "clusterRoleSelectors": [{"matchLabels": {OWNERS_LABEL: "true"}}],
            },
        },
        _role("Role", OPERATOR, namespace, own_rules()),
        _binding("ClusterRoleBinding", _of(OPERATOR, namespace), OPERATOR, namespace),
        _binding("ClusterRoleBinding", _of(OWNERS_ROLE, namespace), OWNERS_ROLE, namespace),
        _binding("RoleBinding", OPERATOR, OPERATOR, namespace),
    ]


def cluster_rules(controllers: Collection[str]) -> list[Json]:
    """What the chosen controllers need, each right once."""
    return [
        rule
        for needed_by, rules in PARTS
        if not needed_by.isdisjoint(controllers)
        for rule in rules
    ]


def _rule(group: str, resources: list[str], verbs: list[str], names: Sequence[str] = ()) -> Json:
    rule: Json = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return rule | {"resourceNames": sorted(names)} if names else rule


_COMMON = [
    _rule("", ["pods"], READ),
    # Who it is itself: by that it knows its own status writes.
    _rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
    _rule("", ["events"], ["create", "patch"]),
    # Whose definitions these are: another product may have kinds of the same names.
    _rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"], list(CONTROLLER_OF)),
    # Whether another installation works in this cluster.
    _rule("coordination.k8s.io", ["leases"], ["list"], [LEASE]),
    # RBAC cannot restrict creation to a name: the object has none yet.
    _rule("admissionregistration.k8s.io", REGISTRATIONS, ["create"]),
    _rule("admissionregistration.k8s.io", REGISTRATIONS, [*READ, "update"], [configuration.NAME]),
]
_OF_BUDGETS = [
    _rule("", ["namespaces"], FOLLOW),
    # How many pods there should be.
    _rule("", ["replicationcontrollers"], READ),
    _rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], READ),
    _rule("batch", ["jobs"], READ),
    _rule("leaderworkerset.x-k8s.io", ["leaderworkersets"], READ),
    _rule("*", ["*/scale"], ["get"]),
    # The gate of a PodUnavailableBudget looks at what would refuse an eviction after it.
    _rule("policy", ["poddisruptionbudgets"], READ),
]
_OF_PUBS = [
    _rule("policy.kruise.io", ["podunavailablebudgets"], READ),
    _rule("policy.kruise.io", ["podunavailablebudgets/status"], ["update"]),
    # Where Karpenter writes when a node must be empty.
    _rule("karpenter.sh", ["nodeclaims"], ["get"]),
]
_OF_PDBS = [
    _rule("policy", ["poddisruptionbudgets/status"], ["patch"]),
    # To clear the condition DisruptionTarget of pods that were not evicted after all.
    _rule("", ["pods/status"], ["patch"]),
    _rule("scheduling.k8s.io", ["podgroups", "workloads"], FOLLOW),
]
_OF_GATES = [
    # The label that makes the API server ask about a namespace's pods.
    _rule("", ["namespaces"], ["patch"]),
    # As a dry run, to find out whether it does.
    _rule("", ["pods/eviction"], ["create"]),
]
_OF_RBGS = [
    _rule("workloads.x-k8s.io", ["rolebasedgroups"], [*READ, "patch"]),
    _rule("workloads.x-k8s.io", ["rolebasedgroups/status"], ["update"]),
    # Its finalizers: for owner references that block its deletion.
    _rule("workloads.x-k8s.io", ["rolebasedgroups/finalizers"], ["update"]),
    _rule("workloads.x-k8s.io", ["rolebasedgroupscalingadapters"], [*READ, *WRITE]),
    _rule("workloads.x-k8s.io", ["rolebasedgroupscalingadapters/status"], ["patch"]),
    # What a RoleBasedGroup owns: server-side apply is a patch, which also creates.
    _rule("apps", ["deployments", "statefulsets", "controllerrevisions"], [*READ, *WRITE]),
    _rule("apps", ["replicasets"], READ),
    _rule("leaderworkerset.x-k8s.io", ["leaderworkersets"], [*READ, *WRITE]),
    _rule("", ["services"], [*READ, *WRITE]),
    _rule("", ["configmaps"], [*READ, *APPLY]),
    # Labels with the revision, which routers read on a pod, and with its batch.
    _rule("", ["pods"], ["patch"]),
    _rule("", ["pods/eviction"], ["create"]),
]
_OF_NODES = [
    # When a node must be empty, and the domains that pods of batches run in.
    _rule("", ["nodes"], ["get"]),
]
PARTS: list[tuple[frozenset[str], list[Json]]] = [
    (frozenset(CONTROLLERS), _COMMON),
    (frozenset(("pub", "pdb", "disruption")), _OF_BUDGETS),
    (frozenset(("pub",)), _OF_PUBS),
    (frozenset(("pdb", "disruption")), _OF_PDBS),
    (frozenset(("pub", "pdb")), _OF_GATES),
    (frozenset(("rbg",)), _OF_RBGS),
    (frozenset(("pub", "rbg")), _OF_NODES),
]
"""Rights in the whole cluster, with the controllers that need them."""


def own_rules() -> list[Json]:
    return [
        _rule("coordination.k8s.io", ["leases"], ["create"]),
        _rule("coordination.k8s.io", ["leases"], [*READ, "update"], [LEASE]),
        _rule("", ["secrets"], ["create"]),
        _rule("", ["secrets"], ["get", "update", "delete"], [certificates.SECRET]),
    ]


UNINSTALL_RULES = [
    _rule("", ["namespaces"], ["list", "patch"]),
    _rule("", ["pods"], ["list", "patch"]),
    _rule("policy", ["poddisruptionbudgets"], ["get", "list"]),
    _rule("policy", ["poddisruptionbudgets/status"], ["patch"]),
    _rule("policy.kruise.io", ["podunavailablebudgets"], ["get", "list"]),
    _rule("policy.kruise.io", ["podunavailablebudgets/status"], ["patch"]),
    _rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"], list(CONTROLLER_OF)),
    # Whether another installation works, which needs the roles and webhooks.
    _rule("coordination.k8s.io", ["leases"], ["list"], [LEASE]),
    _rule(
        "admissionregistration.k8s.io",
        REGISTRATIONS,
        ["get", "patch", "delete"],
        [configuration.NAME],
    ),
]
"""What the hook of the chart may do in the whole cluster, while `helm uninstall` waits for it."""


def uninstall_own_rules() -> list[Json]:
    """What it may do in the namespace of Intact."""
    return [
        _rule("apps", ["deployments"], ["get", "delete"], [OPERATOR]),
        _rule("coordination.k8s.io", ["leases"], ["get", "delete"], [LEASE]),
        _rule("", ["secrets"], ["get", "delete"], [certificates.SECRET]),
    ]


def _object(api_version: str, kind: str, name: str, namespace: str) -> Json:
    metadata: Json = {"name": name, "labels": dict(LABELS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _role(kind: str, name: str, namespace: str, rules: list[Json]) -> Json:
    return {**_object(f"{RBAC}/v1", kind, name, namespace), "rules": rules}


def _of(name: str, namespace: str) -> str:
    """The name of a binding for all namespaces. Another installation has other bindings: it must
    not take the rights of the first."""
    return name if namespace == NAMESPACE else f"{name}-{namespace}"


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
