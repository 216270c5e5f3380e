"""When a recount may not trust its store alone."""

from collections.abc import Callable, Iterable

from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import PODS
from intact.model.pod import Pod
from intact.model.versions import Present


class Behind(KubeError):
    """The local store is older than what an earlier recount or the gate has seen."""


async def pods_beyond(
    client: Client, namespace: str, is_reached: Callable[[str], bool]
) -> Present | None:
    """The pods of a namespace as they are now, if what was read before states versions that the
    server has not reached; None if the store is only behind. `is_reached` says whether a version is
    as new as all that is stated."""
    if is_reached(await client.present_version(PODS)):
        return None
    page = await client.list(PODS, namespace)
    versions = {pod.metadata.uid: pod.metadata.resource_version for pod in page.items}
    return Present(page.resource_version, versions)


async def versions_now(client: Client, pods: Iterable[Pod]) -> dict[str, str]:
    """The versions that these pods have at the API, by UID; without those that are gone."""
    versions: dict[str, str] = {}
    for pod in pods:
        meta = pod.metadata
        try:
            found = await client.get(PODS, meta.name, meta.namespace)
        except NotFound:
            continue
        versions[found.metadata.uid] = found.metadata.resource_version
    return versions
