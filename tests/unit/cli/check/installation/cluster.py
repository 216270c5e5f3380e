"""A cluster in memory with Intact in it, which answers some requests as a test wants."""

import base64
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.resources import LEASES
from intact.kube.transport import Request, Response, Stream
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings
from intact.operator.webhook.authority import new_authority
from intact.operator.webhook.configuration import (
    MUTATING,
    VALIDATING,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.sandbox import MemoryApi
from tests.support.objects import Json, pod
from tests.unit.operator.install.cluster import create_all, new_api

HOME = "intact-system"
IMAGE = "example.test/intact:1"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORITY = new_authority(NOW)
Answers = Callable[[Request], Response | None]


class Answering:
    """A transport that asks the test first."""

    def __init__(self, api: MemoryApi, instead: Answers) -> None:
        self._api = api
        self._instead = instead

    async def send(self, request: Request) -> Response:
        return self._instead(request) or await self._api.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._api.stream(request)

    async def close(self) -> None:
        pass


def answer(code: int, body: Any) -> Response:
    return Response(code, msgspec.json.encode(body))


def refused(code: int, message: str, reason: str = "", cause: str = "") -> Response:
    details = {"causes": [{"reason": cause}]} if cause else {}
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return answer(code, status | {"message": message, "reason": reason, "details": details})


def client_of(api: MemoryApi, instead: Answers = lambda _request: None) -> Client:
    return Client(Answering(api, instead))


def configurations(bundle: bytes = AUTHORITY.bundle) -> list[Json]:
    address = UrlAddress("127.0.0.1", 9443)
    return [validating_configuration(address, bundle), mutating_configuration(address, bundle)]


async def register(client: Client, bundle: bytes = AUTHORITY.bundle) -> None:
    for resource, body in zip((VALIDATING, MUTATING), configurations(bundle), strict=True):
        await client.create(resource, body)


async def hold_lease(client: Client, holder: str, namespace: str = HOME) -> None:
    body = {"metadata": {"name": "intact"}, "spec": {"holderIdentity": holder}}
    await client.create(LEASES, body, namespace)


async def installed(**pods: str) -> tuple[MemoryApi, Client]:
    """By its manifests, with these pods and their images; the leader is `intact-a`."""
    api = new_api()
    client = Client(api)
    await create_all(client, manifests(Settings(image=IMAGE), namespace=HOME))
    await register(client)
    await hold_lease(client, "intact-a_1")
    for name, image in pods.items():
        body = pod(f"intact-{name}", images={"intact": image})
        body["metadata"]["labels"] = {"app.kubernetes.io/name": "intact"}
        await create_all(client, [body | {"metadata": body["metadata"] | {"namespace": HOME}}])
    return api, client


def bundle_text(bundle: bytes) -> str:
    return base64.b64encode(bundle).decode()
