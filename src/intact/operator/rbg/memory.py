"""What this process remembers of its own writes, because its stores may not have seen them yet.

The applier keeps its own answers in the same way. A new leader starts with none of it.
"""

from intact.kube.store import Key
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.stores import RbgStores


class WrittenGroups:
    """RoleBasedGroups, as the API server answered."""

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


class EvictedPods:
    """UIDs of evicted pods that their Deployments have not been lowered by yet."""

    def __init__(self) -> None:
        self._by_deployment: dict[str, set[str]] = {}

    def by_deployment(self) -> dict[str, frozenset[str]]:
        """By the UID of the Deployment."""
        return {uid: frozenset(pods) for uid, pods in self._by_deployment.items()}

    def add(self, deployment: str, pod: str) -> bool:
        """Whether it is new."""
        pods = self._by_deployment.setdefault(deployment, set())
        new = pod not in pods
        pods.add(pod)
        return new

    def discard(self, deployment: str, pod: str) -> None:
        self._by_deployment[deployment].discard(pod)

    def forget(self, deployment: str) -> None:
        self._by_deployment.pop(deployment, None)

    def forget_all(self) -> None:
        self._by_deployment.clear()
