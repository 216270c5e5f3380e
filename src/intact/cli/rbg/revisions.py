"""The revisions of RoleBasedGroups, read from their ControllerRevisions."""

from intact.kube.client import Client
from intact.kube.errors import Forbidden
from intact.model.pod_state import controller_uid
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.resources import REVISIONS
from intact.rollout.names import GROUP, REVISION


async def revisions_of(client: Client, group: RoleBasedGroup) -> list[ControllerRevision]:
    """Oldest first."""
    meta = group.metadata
    labels = f"{REVISION},{GROUP}={meta.name}"
    found = (await client.list(REVISIONS, meta.namespace, labels=labels)).items
    own = [one for one in found if controller_uid(one) == meta.uid]
    return sorted(own, key=lambda one: one.revision)


class Numbers:
    """The numbers of revisions. They are read again only when a RoleBasedGroup has gone over to
    another revision, and are unknown to users who may not read ControllerRevisions."""

    def __init__(self, client: Client, namespace: str) -> None:
        """Without a namespace: all of them."""
        self._client = client
        self._namespace = namespace
        self._numbers: dict[tuple[str, str], int] = {}
        self._seen: dict[str, tuple[str, str]] = {}
        self._forbidden = False

    async def of(self, group: RoleBasedGroup) -> dict[str, int]:
        """By the names of the ControllerRevisions that its status names."""
        meta, status = group.metadata, group.status
        named = (status.update_revision, status.current_revision)
        if self._seen.get(meta.uid) != named:
            self._seen[meta.uid] = named
            await self._read()
        keys = [(name, self._numbers.get((meta.namespace, name))) for name in named]
        return {name: number for name, number in keys if number is not None}

    async def _read(self) -> None:
        if self._forbidden:
            return
        try:
            found = await self._client.list(REVISIONS, self._namespace, labels=REVISION)
        except Forbidden:
            self._forbidden = True
            return
        self._numbers = {
            (one.metadata.namespace, one.metadata.name): one.revision for one in found.items
        }
