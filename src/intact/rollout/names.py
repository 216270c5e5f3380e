"""Names and labels of what belongs to a group, in upstream's words.

Upstream's two API versions label the same things differently, and routers and dashboards read
either: both sets are written. The first set is what we select by.
"""

import hashlib

GROUP = "rolebasedgroup.workloads.x-k8s.io/name"
ROLE = "rolebasedgroup.workloads.x-k8s.io/role"
GROUP_KEY = "rolebasedgroup.workloads.x-k8s.io/group-unique-key"
ROLE_SIZE = "rolebasedgroup.workloads.x-k8s.io/role-size"
"""Annotation on the workload: replicas that the role should have."""
REVISION = "rolebasedgroup.workloads.x-k8s.io/controller-revision-hash"
"""On pods: one value for all coordinated roles of one revision, for routers."""
_ROLE_REVISION = "rolebasedgroup.workloads.x-k8s.io/role-revision-hash-"
COORDINATION = "coordination.workloads.x-k8s.io/"
MEMBER = "member"
BATCH = "batch.coordination.workloads.x-k8s.io/"
"""Prefix; the value is the number of the pod's batch."""
BATCHED = "intact.dev/batched"
"""On the pods of roles that come in batches, by which the API server knows to ask us: the name of
the coordination."""
AGREED = "intact.dev/agreed-replicas"
"""Annotation on a role's scaling adapter: the number that the two last had in common."""

HELD = "intact.dev/rollout"
"""Finalizer on a pod that was evicted to be updated, until its workload will make it again with the
new revision. A StatefulSet whose partition is lowered first would delete the pod itself, past all
budgets; one whose partition is lowered too late makes it again as it was."""

LONGEST_WORKLOAD = 52
"""A StatefulSet labels its pods with its name and eleven characters more, and a label has 63."""
LONGEST_ROLE = 44
"""So that the label with its revision is one."""


def workload_name(group: str, role: str) -> str:
    return f"{group}-{role}"


def service_name(group: str, role: str) -> str:
    return f"s-{group}-{role}"


def group_key(namespace: str, group: str) -> str:
    return hashlib.sha1(f"{namespace}/{group}".encode(), usedforsecurity=False).hexdigest()


def role_revision_label(role: str) -> str:
    """On workload and pods: the hash of the template that they are of."""
    return _ROLE_REVISION + role


def selector_labels(namespace: str, group: str, role: str) -> dict[str, str]:
    """What no other role's pods have, and what never changes."""
    return {GROUP: group, ROLE: role, GROUP_KEY: group_key(namespace, group)}


def labels(namespace: str, group: str, role: str) -> dict[str, str]:
    """On everything that belongs to a role."""
    return selector_labels(namespace, group, role) | {
        "rbg.workloads.x-k8s.io/group-name": group,
        "rbg.workloads.x-k8s.io/role-name": role,
        "rbg.workloads.x-k8s.io/group-uid": group_key(namespace, group),
    }
