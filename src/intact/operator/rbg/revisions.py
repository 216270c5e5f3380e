"""Stores the history of a RoleBasedGroup's templates, as ControllerRevisions."""

from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, ApiError
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.objects import group_labels, owner_reference
from intact.operator.rbg.refusals import gather_refusals
from intact.operator.rbg.resources import REVISIONS
from intact.operator.rbg.stores import RbgStores
from intact.rollout.names import REVISION, ROLE, role_revision_label
from intact.rollout.revisions import (
    group_hash,
    hash_of,
    next_number,
    outlived,
    revision_of,
    role_hashes,
    template_of,
)


def name_of(group: RoleBasedGroup) -> str:
    """The ControllerRevision of the present templates."""
    return f"{group.metadata.name}-{group_hash(role_hashes(group))}"


class RbgRevisions:
    def __init__(self, client: Client, stores: RbgStores) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores

    def history(self, group: RoleBasedGroup) -> list[ControllerRevision]:
        """Oldest first."""
        return self._stores.history(group)

    async def keep(self, group: RoleBasedGroup) -> bool:
        """Make the present templates the newest revision. Returns whether it is new."""
        present = group_hash(role_hashes(group))
        name = name_of(group)
        known = [revision_of(one) for one in self.history(group)]
        number = next_number(known, present)
        made = False
        if all(one.hash != present for one in known):
            made = await self._create(group, name, present, number)
        elif next(one.number for one in known if one.hash == present) != number:
            await self._client.patch(
                REVISIONS, {"revision": number}, name, group.metadata.namespace
            )
            self.writes += 1
        return made

    async def _create(self, group: RoleBasedGroup, name: str, present: str, number: int) -> bool:
        body = {
            "apiVersion": REVISIONS.api_version,
            "kind": REVISIONS.kind,
            "metadata": {
                "name": name,
                "labels": group_labels(group) | {REVISION: present},
                "ownerReferences": [owner_reference(group)],
            },
            "revision": number,
            "data": {"roles": {role.name: template_of(role) for role in group.spec.roles}},
        }
        try:
            await self._client.create(REVISIONS, body, group.metadata.namespace)
        except AlreadyExists:
            return False  # the store has not seen it yet
        self.writes += 1
        return True

    async def trim(self, group: RoleBasedGroup) -> list[ApiError]:
        """Delete revisions over the limit that nothing uses. Returns the refusals."""
        stored = self.history(group)
        present = group_hash(role_hashes(group))
        named = (group.status.current_revision, group.status.update_revision)
        in_use = {present} | {revision_of(one).hash for one in stored if one.metadata.name in named}
        # The newest revision with each running template: an old Deployment needs its template.
        newest = {
            (role, hash_of(template)): revision_of(one).hash
            for one in stored
            for role, template in one.data.get("roles", {}).items()
        }
        in_use |= {newest[each] for each in self._running(group) if each in newest}
        return await gather_refusals(
            self._delete(one.name, group.metadata.namespace)
            for one in outlived(map(revision_of, stored), in_use)
        )

    async def _delete(self, name: str, namespace: str) -> None:
        await self._client.delete(REVISIONS, name, namespace)
        self.writes += 1

    def _running(self, group: RoleBasedGroup) -> set[tuple[str, str]]:
        """Roles, and the hashes of the templates that their workloads have."""
        found = set()
        for reflector in self._stores.workloads.values():
            for one in self._stores.owned(reflector, group):
                labels = one.metadata.labels
                role = labels.get(ROLE, "")
                found.add((role, labels.get(role_revision_label(role), "")))
        return found
