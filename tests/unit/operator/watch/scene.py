"""A cluster in memory with a few kinds of workloads that are not built in."""

from typing import Any

from intact.kube.client import Client
from intact.kube.resources import Resource
from intact.sandbox import MemoryApi, wall_clock
from tests.support.objects import Json
from tests.unit.operator.pub.scene import KINDS

HOME = "default"


def api_with_sets() -> MemoryApi:
    api = MemoryApi(clock=wall_clock())
    for kind in KINDS:
        api.register(kind)
    return api


async def make(
    client: Client, resource: Resource[dict[str, Any]], name: str, spec: Json | None = None
) -> Json:
    body = {"apiVersion": resource.api_version, "kind": resource.kind}
    return await client.create(
        resource, {**body, "metadata": {"name": name}, "spec": spec or {}}, HOME
    )
