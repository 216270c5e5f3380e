"""RoleBasedGroups that this process has written and that its store has not seen yet."""

from intact.kube.store import Key
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.stores import RbgStores


class WrittenGroups:
    def __init__(self, stores: RbgStores) -> None:
        self._stores = stores
        self._written: dict[Key, RoleBasedGroup] = {}

    def newest(self, key: Key) -> RoleBasedGroup | None:
        """From the store, or as this process wrote it, if that is newer."""
        seen, written = self._stores.group(key), self._written.get(key)
        if seen is None or written is None:
            self._written.pop(key, None)
            return seen
        versions = int(seen.metadata.resource_version), int(written.metadata.resource_version)
        if versions[0] >= versions[1] or seen.metadata.uid != written.metadata.uid:
            del self._written[key]
            return seen
        return written

    def remember(self, group: RoleBasedGroup) -> None:
        """The API server's answer to a write."""
        self._written[group.metadata.namespace, group.metadata.name] = group
