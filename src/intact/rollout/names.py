"""Names and labels of what belongs to a RoleBasedGroup, as upstream has them.

Upstream's two API versions use different labels for the same things, and routers and dashboards
read either: Intact writes both sets, and selects by the first.
"""

import hashlib

from intact.model import labels as pod_labels

GROUP = pod_labels.ROLE_BASED_GROUP
ROLE = "rolebasedgroup.workloads.x-k8s.io/role"
GROUP_KEY = "rolebasedgroup.workloads.x-k8s.io/group-unique-key"
ROLE_SIZE = "rolebasedgroup.workloads.x-k8s.io/role-size"
"""Annotation on a workload: replicas that the role should have."""
REVISION = "rolebasedgroup.workloads.x-k8s.io/controller-revision-hash"
"""Label on pods, for routers: one value for all coordinated roles of one revision."""
_ROLE_REVISION = "rolebasedgroup.workloads.x-k8s.io/role-revision-hash-"
COORDINATION = "coordination.workloads.x-k8s.io/"
MEMBER = "member"
BATCH = pod_labels.BATCH
BATCH_SIZE = pod_labels.BATCH_SIZE
BATCHED = "intact.dev/batched"
"""Label on the pods of roles in batches: the name of the coordination. The API server sends only
pods with this label to the placement webhook."""
AGREED = "intact.dev/agreed-replicas"
"""Annotation on a role's scaling adapter: the last number that adapter and role agreed on."""

HELD = "intact.dev/rollout"
"""Finalizer on a pod that a rollout evicts, until its StatefulSet will recreate it with the new
revision. If the partition were lowered before the eviction, the StatefulSet would delete the pod
itself, past all budgets; if it were lowered too late, the pod would come back old."""

LONGEST_WORKLOAD = 52
"""A StatefulSet labels its pods with its name and 11 more characters, and a label holds 63."""
LONGEST_ROLE = 44
"""So that the label with the role's revision stays a valid key."""


def workload_name(group: str, role: str) -> str:
    return f"{group}-{role}"


def other_name(group: str, role: str, revision: str) -> str:
    """The name of a second workload of a role, while the first one has the plain name."""
    plain = workload_name(group, role)
    name = f"{plain}-{revision}"
    if len(name) <= LONGEST_WORKLOAD:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[: len(revision)]
    return f"{plain[: LONGEST_WORKLOAD - len(digest) - 1]}-{digest}"


def service_name(group: str, role: str) -> str:
    return f"s-{group}-{role}"


def group_key(namespace: str, group: str) -> str:
    return hashlib.sha1(f"{namespace}/{group}".encode(), usedforsecurity=False).hexdigest()


def role_revision_label(role: str) -> str:
    """Label on workload and pods: the hash of the template that they have."""
    return _ROLE_REVISION + role


def selector_labels(namespace: str, group: str, role: str) -> dict[str, str]:
    """Labels that no other role's pods have, and that never change."""
    return {GROUP: group, ROLE: role, GROUP_KEY: group_key(namespace, group)}


def labels(namespace: str, group: str, role: str) -> dict[str, str]:
    """Labels on everything that belongs to a role."""
    return selector_labels(namespace, group, role) | {
        "rbg.workloads.x-k8s.io/group-name": group,
        "rbg.workloads.x-k8s.io/role-name": role,
        "rbg.workloads.x-k8s.io/group-uid": group_key(namespace, group),
    }
