"""What `intact run --install` puts into a cluster before it starts. Several processes may do it at
once, and again at each start."""

import asyncio
import logging
from collections.abc import Collection
from typing import Any

from intact.kube.client import Client, PatchType
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.kube.resources import untyped
from intact.operator.errors import StartError
from intact.operator.install.crds import definitions
from intact.operator.install.foreign import CONTROLLER_OF, refusal
from intact.operator.names import DEFAULT_CONTROLLERS

log = logging.getLogger(__name__)

CRDS = untyped(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
_ESTABLISHED_WITHIN = 60.0
_PAUSE = 0.1
_ASK_AGAIN = 2.0


async def install(client: Client, controllers: Collection[str] = DEFAULT_CONTROLLERS) -> None:
    """Apply the CRDs of these controllers, and wait until they are served. If one of them is
    another product's, none is applied.

    Raises `StartError` if another product owns a CRD or a CRD is never served, and `KubeError`.
    """
    wanted = definitions_of(controllers)
    for definition in wanted:
        await _refuse_foreign(client, definition)
    for definition in wanted:
        await _apply(client, definition)


async def refuse_foreign(client: Client, controllers: Collection[str]) -> None:
    """The manifests may have been applied beside another product's CRD, whose objects Intact must
    not run. A server that does not answer is asked again.

    Raises `StartError`.
    """
    for definition in definitions_of(controllers):
        while True:
            try:
                await _refuse_foreign(client, definition)
            except Forbidden as error:
                log.warning("cannot find out whose CRDs the cluster has: %s", error)
                return
            except KubeError as error:
                log.warning("cannot find out whose CRDs the cluster has, trying again: %s", error)
                await asyncio.sleep(_ASK_AGAIN)
            else:
                break


def definitions_of(controllers: Collection[str]) -> list[dict[str, Any]]:
    """The CRDs that these controllers need."""
    return [
        each for each in definitions() if CONTROLLER_OF[each["metadata"]["name"]] in controllers
    ]


async def _refuse_foreign(client: Client, definition: dict[str, Any]) -> None:
    try:
        found = await client.get(CRDS, definition["metadata"]["name"])
    except NotFound:
        return
    if "deletionTimestamp" not in found["metadata"] and (why := refusal(found, definition)):
        raise StartError(why)


async def _apply(client: Client, definition: dict[str, Any]) -> None:
    name = definition["metadata"]["name"]
    try:
        async with asyncio.timeout(_ESTABLISHED_WITHIN):
            while not await _is_applied(client, definition):
                await asyncio.sleep(_PAUSE)
            while not await _is_served(client, definition):
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        message = f"the CRD {name} is not established after {_ESTABLISHED_WITHIN:.0f} s"
        raise StartError(f"{message}; kubectl describe crd {name} says why") from None
    log.info("the CRD %s is served", name)


async def _is_applied(client: Client, definition: dict[str, Any]) -> bool:
    """Apply it, unless an older one is still being deleted."""
    name = definition["metadata"]["name"]
    try:
        found = await client.get(CRDS, name)
    except NotFound:
        pass
    else:
        if "deletionTimestamp" in found["metadata"]:
            return False
        if why := refusal(found, definition):
            raise StartError(why)  # it came while this process waited
    await client.patch(CRDS, definition, name, type=PatchType.APPLY, force=True)
    return True


async def _is_served(client: Client, definition: dict[str, Any]) -> bool:
    found = await client.get(CRDS, definition["metadata"]["name"])
    conditions = found.get("status", {}).get("conditions") or []
    if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
        return False
    spec = definition["spec"]
    try:
        for version in spec["versions"]:
            path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            await client.raw(path, {"limit": "1"})
    except NotFound:
        return False  # established, but this API server does not serve it yet
    return True
