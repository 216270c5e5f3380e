"""Which role a workload belongs to, which of its revisions it has, and which pods.

Any client may overwrite a label. So the role is read off the selector, which the API server never
changes, and the revision off the template, whose labels the pods get. A LeaderWorkerSet has no
selector: its name tells its role.
"""

import re
from collections.abc import Iterable

from intact.model.pod import Pod
from intact.model.pod_state import controller_of
from intact.model.rbg import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET
from intact.model.role_workload import RoleWorkload
from intact.rollout.names import ROLE, role_revision_label, workload_name
from intact.rollout.replicas import GROUP_INDEX

_TEMPLATE_HASH = "pod-template-hash"
_HASH = re.compile(r"-[0-9a-f]{10}")


def role_of(group: str, workload: RoleWorkload, roles: Iterable[str]) -> str:
    """The role of a workload that the RoleBasedGroup of this name controls, which may be one that
    it does not have any more; empty if nothing tells."""
    if selected := workload.spec.selector.match_labels.get(ROLE):
        return selected
    names = {workload_name(group, role): role for role in roles}
    own = workload.metadata.name
    plain = _HASH.fullmatch(own[-11:]) and own[:-11]
    for name in (own, plain):
        if name and name in names:
            return names[name]
    return workload.metadata.labels.get(ROLE, "")


def revision_of_role(workload: RoleWorkload, role: str) -> str:
    """The role's revision that the workload's template has."""
    label = role_revision_label(role)
    return workload.spec.pod_labels.get(label) or workload.metadata.labels.get(label, "")


def workload_of(pod: Pod) -> tuple[str, str] | None:
    """Kind and name of the workload of a pod, as far as its controller tells."""
    owner, labels = controller_of(pod), pod.metadata.labels
    if owner is None:
        return None
    if owner.kind == "ReplicaSet":
        suffix = f"-{labels.get(_TEMPLATE_HASH, '')}"
        return (DEPLOYMENT[1], owner.name.removesuffix(suffix)) if len(suffix) > 1 else None
    if owner.kind == STATEFUL_SET[1] and GROUP_INDEX in labels:
        return None  # of a LeaderWorkerSet, which owns this StatefulSet
    if owner.kind in (STATEFUL_SET[1], LEADER_WORKER_SET[1]):
        return owner.kind, owner.name
    return None
