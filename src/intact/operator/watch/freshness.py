"""When a recount may not trust its store alone."""

from collections.abc import Iterable

from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import PODS
from intact.model.pod import Pod


class Behind(KubeError):
    """The local store is older than what an earlier recount or the gate has seen."""


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
