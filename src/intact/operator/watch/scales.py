"""How many replicas workloads want, from the scale subresource that kinds of any vendor serve."""

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import Resource
from intact.model.base import View
from intact.model.meta import ObjectMeta
from intact.model.workload import Workload


class _ScaleSpec(View):
    replicas: int | None = None


class _Scale(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: _ScaleSpec = _ScaleSpec()


class Scales:
    """Scales that were read, each kept for one generation of its workload."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[int, int]] = {}
        """By UID: generation and replicas."""

    async def replicas(self, resource: Resource[Workload], workload: Workload) -> int:
        """The API server is asked once for each generation. Raises `KubeError`."""
        meta = workload.metadata
        known = self._known.get(meta.uid)
        if known is None or known[0] != meta.generation:
            scale = await self._get(resource, meta.namespace, meta.name)
            known = self._known[meta.uid] = (meta.generation, scale.spec.replicas or 0)
        return known[1]

    async def ask(
        self, resource: Resource[Workload], namespace: str, name: str
    ) -> tuple[str, int] | None:
        """UID and replicas as the API server has them now; None if there is no such object."""
        try:
            scale = await self._get(resource, namespace, name)
        except NotFound:
            return None
        return scale.metadata.uid, scale.spec.replicas or 0

    def forget(self, uid: str) -> None:
        self._known.pop(uid, None)

    async def _get(self, resource: Resource[Workload], namespace: str, name: str) -> _Scale:
        scales = Resource(
            _Scale,
            resource.group,
            resource.version,
            resource.plural,
            resource.kind,
            resource.namespaced,
        )
        return await self._client.get(scales, name, namespace, subresource="scale")
