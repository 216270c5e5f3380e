"""A cluster that commands reach over HTTP, with pods and budgets in it. No controller runs: what
their status says is given."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from click.testing import Result

from intact.kube.client import Client
from intact.kube.resources import PUBS as TYPED_PUBS
from intact.kube.resources import RBGS, untyped
from intact.kube.transport import Request, Response
from intact.model.pod import DetailedPod
from intact.sandbox import Kind, MemoryApi
from tests.support.objects import NAMESPACES, PDBS, PODS, Json
from tests.unit.cli.loopback import invoked, served
from tests.unit.cli.rbg.cluster import refusal

PUBS = untyped(TYPED_PUBS.group, TYPED_PUBS.version, TYPED_PUBS.plural, TYPED_PUBS.kind)
VALIDATING = untyped(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


class Inhabited:
    def __init__(self, api: MemoryApi) -> None:
        self.client = Client(api)
        self.kubeconfig = ""
        self.forbidden: set[str] = set()
        """Plurals that may not be read."""
        self.broken = ""
        """What the server answers to every new request, if anything."""

    def instead(self, request: Request) -> Response | None:
        if self.broken:
            return refusal(500, "InternalError", self.broken)
        if self.forbidden & set(request.path.split("/")):
            return refusal(403, "Forbidden", "no")
        return None

    async def run(self, *arguments: str, namespace: str = "llm") -> Result:
        return await invoked(*arguments, "--kubeconfig", self.kubeconfig, "-n", namespace)

    async def namespace(self, name: str) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})

    async def put(self, resource: Any, obj: Any, namespace: str = "llm") -> None:
        """An object with its status, which only the subresource takes."""
        body: Json = msgspec.to_builtins(obj)
        body = {**body, "apiVersion": resource.api_version, "kind": resource.kind}
        meta = body["metadata"]
        body["metadata"] = {
            key: meta[key]
            for key in ("name", "labels", "annotations", "ownerReferences")
            if meta.get(key)
        }
        status = body.pop("status")
        if resource.kind == "PodUnavailableBudget":
            status["ledger"] = msgspec.json.encode(status["ledger"]).decode()
        await self.client.create(resource, body, namespace)
        name = obj.metadata.name
        await self.client.patch(resource, {"status": status}, name, namespace, subresource="status")

    async def pods(self, *pods: DetailedPod) -> None:
        for pod in pods:
            await self.put(PODS, pod)


@asynccontextmanager
async def inhabited(
    directory: Path, *pods: DetailedPod, pdbs: Any = (), pubs: Any = (), intact: bool = False
) -> AsyncGenerator[Inhabited, None]:
    """The namespace `llm`, with these objects. Without `intact`, there are no CRDs."""
    api = MemoryApi()
    if intact:
        for kind in (TYPED_PUBS, RBGS):
            api.register(Kind(kind.group, kind.version, kind.plural, kind.kind, status=True))
    this = Inhabited(api)
    await this.namespace("llm")
    if intact:
        await this.client.create(VALIDATING, {"metadata": {"name": "intact"}})
    await this.pods(*pods)
    for pdb in pdbs:
        await this.put(PDBS, pdb)
    for pub in pubs:
        await this.put(PUBS, pub)
    async with served(api, directory, instead=this.instead) as this.kubeconfig:
        yield this
