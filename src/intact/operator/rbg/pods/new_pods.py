"""What a pod of a RoleBasedGroup gets when it is created, beyond its template: the revision that
routers read on it, and its place in a batch.

A template cannot hold either: it is the same for all pods of a role, and changing it restarts them.
The API server asks about pods with the label of a RoleBasedGroup, and creates them in any case:
while Intact is down they come without, and the leader adds what is missing once it is back.
"""

import msgspec

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import RBGS
from intact.model.admission import AdmissionResponse, read_request
from intact.model.rbg import Role, RoleBasedGroup
from intact.operator.rbg.pods.placement import NewPod, Placement, with_label
from intact.operator.rbg.stores import RbgStores
from intact.operator.webhook.responses import ALLOWED, Operations, patched
from intact.rollout.coordinations import ROLLING_UPDATE, coordination_of
from intact.rollout.names import GROUP, REVISION, ROLE, role_revision_label
from intact.rollout.revision_labels import label_of_new

_POD = msgspec.json.Decoder(NewPod)


class NewPods:
    def __init__(self, client: Client, stores: RbgStores, placement: Placement) -> None:
        self._client = client
        self._stores = stores
        self._placement = placement

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview. If it raises, the pod is created as it is."""
        request = read_request(raw)
        pod = _POD.decode(request.object)
        key = (request.namespace, pod.metadata.labels.get(GROUP, ""))
        group = self._stores.group(key)
        if group is None:  # the store may lag, or be empty in a process that has just started
            group = await self._read(*key)
        role = group.spec.role(pod.metadata.labels.get(ROLE, "")) if group else None
        if group is None or role is None:
            return ALLOWED
        patch = await self._revision(group, role, pod)
        patch += self._placement.patch(group, role, pod, keep=not request.dry_run)
        return patched(patch) if patch else ALLOWED

    async def _read(self, namespace: str, name: str) -> RoleBasedGroup | None:
        try:
            return await self._client.get(RBGS, name, namespace)
        except NotFound:
            return None

    async def _revision(self, group: RoleBasedGroup, role: Role, pod: NewPod) -> Operations:
        """A label of the template or of a user is replaced, or removed if the right one is unknown:
        routers never read a wrong one."""
        if coordination_of(group.spec, role.name, ROLLING_UPDATE) is None:
            return []
        label = self._label(group, role, pod)
        if label is None:
            # The template may be newer than what the store has seen.
            read = await self._read(group.metadata.namespace, group.metadata.name)
            label = self._label(read, role, pod) if read is not None else None
        if label is not None:
            return [with_label(REVISION, label)]
        if REVISION in pod.metadata.labels:
            return [{"op": "remove", "path": with_label(REVISION, "")["path"]}]
        return []

    def _label(self, group: RoleBasedGroup, role: Role, pod: NewPod) -> str | None:
        coordination = coordination_of(group.spec, role.name, ROLLING_UPDATE)
        template = pod.metadata.labels.get(role_revision_label(role.name))
        if coordination is None or template is None:
            return None
        pods = {name: self._stores.pods_of(group, name) for name in coordination.roles}
        history = self._stores.history(group)
        return label_of_new(group, coordination, role.name, template, pods, history)
