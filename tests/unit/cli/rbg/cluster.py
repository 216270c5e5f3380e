"""A cluster that commands reach over HTTP, with RoleBasedGroups in it. No controller runs: what
their status says is given."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from click.testing import Result

from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.kube.transport import Request, Response
from intact.model.rbg import RoleBasedGroup
from intact.rollout.names import GROUP, REVISION
from intact.sandbox import Kind, MemoryApi
from tests.support.objects import NAMESPACES, Json
from tests.support.rbg_objects import template
from tests.support.rbg_waiting import GROUPS, REVISIONS
from tests.unit.cli.loopback import invoked, served
from tests.unit.cli.rbg.seen import seen


class Stocked:
    def __init__(self, api: MemoryApi, client: Client) -> None:
        self.api = api
        self.client = client
        self.sent: list[Request] = []
        self.refused: dict[str, Response] = {}
        """Answers by the last part of a path, in place of the true ones."""
        self.answer: Callable[[Request], Response | None] = self._refused
        self.kubeconfig = ""

    def instead(self, request: Request) -> Response | None:
        self.sent.append(request)
        return self.answer(request)

    def _refused(self, request: Request) -> Response | None:
        return self.refused.get(request.path.rpartition("/")[2])

    async def rbg(self, *arguments: str, namespace: str = "ns") -> Result:
        options = ("--kubeconfig", self.kubeconfig, "-n", namespace)
        return await invoked("rbg", *arguments, *options)

    async def add(self, group: RoleBasedGroup, namespace: str = "ns") -> str:
        """Returns its UID."""
        body: Json = msgspec.to_builtins(group)
        body |= {"apiVersion": RBGS.api_version, "kind": RBGS.kind}
        status = body.pop("status")
        body["metadata"] = {"name": group.metadata.name, "generation": 1}
        made = await self.client.create(GROUPS, body, namespace)
        given = {"status": status}
        await self.client.patch(GROUPS, given, group.metadata.name, namespace, subresource="status")
        uid: str = made["metadata"]["uid"]
        return uid

    async def add_revision(
        self, uid: str, name: str, number: int, roles: Mapping[str, Json], group: str = "llm"
    ) -> None:
        owner = {
            "apiVersion": RBGS.api_version,
            "kind": RBGS.kind,
            "name": group,
            "uid": uid,
            "controller": True,
        }
        body = {
            "metadata": {
                "name": f"{group}-{name}",
                "labels": {GROUP: group, REVISION: name},
                "ownerReferences": [owner],
            },
            "revision": number,
            "data": {"roles": dict(roles)},
        }
        await self.client.create(REVISIONS, body, "ns")


def stored_role(image: str) -> Json:
    return {"template": template(image), "workload": "StatefulSet"}


def refusal(code: int, reason: str, message: str) -> Response:
    status = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return Response(code, json.dumps(status).encode())


@asynccontextmanager
async def stocked(
    directory: Path, *groups: RoleBasedGroup, kind: bool = True
) -> AsyncGenerator[Stocked, None]:
    """The namespace `ns`, with these RoleBasedGroups; two revisions of `llm`."""
    api = MemoryApi()
    if kind:
        api.register(Kind(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind, status=True))
    client = Client(api)
    this = Stocked(api, client)
    await client.create(NAMESPACES, {"metadata": {"name": "ns"}})
    for each in groups:
        uid = await this.add(each)
        if each.metadata.name == "llm":
            await this.add_revision(uid, "a", 1, {"prefill": stored_role("engine:1")})
            await this.add_revision(uid, "b", 2, {"prefill": stored_role("engine:2")})
    async with served(api, directory, instead=this.instead) as this.kubeconfig:
        yield this


ONE = seen(updated=1, state="Updating")
