"""A snapshot of a cluster that runs a RoleBasedGroup, taken as users take it."""

import asyncio
from functools import cache

from intact.kube.resources import RBGS, untyped
from intact.sandbox.api.objects import copied
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from intact.sandbox.kubelet.times import Times
from intact.sandbox.loop import run
from intact.sandbox.snapshot.document import Json, Snapshot, decode, encode
from intact.sandbox.snapshot.reading import take
from tests.support.rbg_objects import group, role, rolling, template

UNTYPED = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)
_ROLES = {"prefill": 4, "decode": 2}
SECRET = [{"name": "PASSWORD", "value": "hunter2"}]


def llm(image: str = "engine:1") -> Json:
    made = template(image)
    made["spec"]["containers"][0]["env"] = SECRET
    roles = [role(name, number) | {"template": copied(made)} for name, number in _ROLES.items()]
    together = rolling(*_ROLES, maxSkew="25%", maxUnavailableRatio="50%")
    return group("llm", *roles, coordination=[together])


@cache
def _taken() -> bytes:
    async def main() -> bytes:
        sandbox = Sandbox(times=Times(ready=20.0))
        async with sandbox.running(), Intact(sandbox).running():
            for number in range(3):
                await sandbox.add_node(f"node-{number}")
            client = sandbox.client()
            await client.create(UNTYPED, llm(), "default")
            await asyncio.sleep(300)
            return encode(await take(client, sandbox.clock))

    return run(main())


def rbg_snapshot() -> Snapshot:
    return decode(_taken())
