"""Restores the label that tells which revision of its role a pod has, after another client has
overwritten it.

Such a pod counts as neither old nor new: a rollout would wait for it for good. Its template tells
what the label was: a ReplicaSet has it, and of a StatefulSet's pod its ControllerRevision. A label
that names another revision of the role is not noticed.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import ApiError, NotFound
from intact.kube.resources import PODS, untyped
from intact.model.meta import OwnerReference
from intact.model.pod import Pod
from intact.model.pod_state import is_gone
from intact.model.rbg import LEADER_WORKER_SET
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.refusals import gather_refusals
from intact.operator.rbg.resources import REVISIONS
from intact.rollout.facts import RoleFacts
from intact.rollout.names import role_revision_label
from intact.rollout.revisions import templates

_REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")
_STATEFUL_SET_REVISION = "controller-revision-hash"


class PodLabels:
    def __init__(self, client: Client) -> None:
        self.writes = 0
        self._client = client

    async def put_right(
        self, roles: Mapping[str, RoleFacts], history: Sequence[ControllerRevision]
    ) -> list[ApiError]:
        """`history` are the revisions of the RoleBasedGroup. Returns the refusals."""
        return await gather_refusals(
            self._put_right(pod, role_revision_label(name), known)
            for name, facts in roles.items()
            if facts.role.kind != LEADER_WORKER_SET
            for known in [{facts.revision, *templates(history, name)}]
            for pod in facts.pods
            if not is_gone(pod) and pod.metadata.labels.get(role_revision_label(name)) not in known
        )

    async def _put_right(self, pod: Pod, label: str, known: Container[str]) -> None:
        meta = pod.metadata
        for owner in meta.owner_references:
            try:
                revision = (await self._template_labels(pod, owner)).get(label)
            except NotFound:
                continue
            if revision in known and revision != meta.labels.get(label):
                body = {"metadata": {"uid": meta.uid, "labels": {label: revision}}}
                await self._client.patch(PODS, body, meta.name, meta.namespace)
                self.writes += 1

    async def _template_labels(self, pod: Pod, owner: OwnerReference) -> dict[str, Any]:
        meta = pod.metadata
        if not owner.controller:
            return {}
        if owner.kind == "ReplicaSet":
            found = await self._client.get(_REPLICA_SETS, owner.name, meta.namespace)
            return _labels(found) if found["metadata"]["uid"] == owner.uid else {}
        name = meta.labels.get(_STATEFUL_SET_REVISION)
        if owner.kind == "StatefulSet" and name:
            return _labels((await self._client.get(REVISIONS, name, meta.namespace)).data)
        return {}


def _labels(workload: dict[str, Any]) -> dict[str, Any]:
    """Of the template of a workload, or of a part of one."""
    template = workload.get("spec", {}).get("template", {})
    found: dict[str, Any] = template.get("metadata", {}).get("labels") or {}
    return found
