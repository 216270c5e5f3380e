"""The pod that a review is about, as the API has it.

Any client that reaches the port can send a review. So a review only names a pod, by its UID;
everything that is decided and recorded about the pod comes from the store or from a read of the
API. A review about a pod that the API does not have changes nothing: the API server refuses such a
request itself if it is real, since the pod has gone meanwhile. A review of a version that the API
has not reached is denied: no API server has sent it.

The store answers alone where it has the very version of the review, as it mostly does. Otherwise
the API is read. If it has a newer version than the review, that one counts: the API server stores
neither a deletion nor an update on an object that has changed, but asks again with the new one.
"""

from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import PODS
from intact.kube.store import Store
from intact.model.pod import Pod, PodMeta
from intact.model.versions import is_at_least

_SHOWN = 20
"""Characters of a version that a message shows."""


class NotOfTheApi(KubeError):
    """The review shows what the API server cannot have."""


class Confirmation:
    def __init__(self, client: Client, pods: Store[Pod]) -> None:
        self._client = client
        self._pods = pods

    async def of(self, shown: PodMeta) -> Pod | None:
        """The pod of a review that shows this metadata; None if the API has no such pod. Raises
        `NotOfTheApi`, or another `KubeError`."""
        known = self._pods.get(shown.namespace, shown.name)
        if known is not None and (known.metadata.uid, known.metadata.resource_version) == (
            shown.uid,
            shown.resource_version,
        ):
            return known
        found = await self.read(shown.namespace, shown.name, shown.uid)
        version = shown.resource_version
        if found is not None and not (
            version and is_at_least(found.metadata.resource_version, [version])
        ):
            raise NotOfTheApi(
                f"the review shows the pod {shown.name} at version {version[:_SHOWN]!r}, which the "
                "API server has not reached"
            )
        return found

    async def read(self, namespace: str, name: str, uid: str) -> Pod | None:
        """The pod as the API has it now; None if it has none of this name and UID."""
        found = await self.named(namespace, name)
        return found if found is not None and found.metadata.uid == uid else None

    async def named(self, namespace: str, name: str) -> Pod | None:
        """The pod that has this name now, with any UID."""
        if not namespace:
            return None  # a review may leave it out
        try:
            return await self._client.get(PODS, name, namespace)
        except NotFound:
            return None
