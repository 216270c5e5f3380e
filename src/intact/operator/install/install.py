"""What `intact run --install` puts into a cluster before it starts. Several processes may do it at
once, and again at each start."""

import asyncio
import logging
from typing import Any

from intact.kube.client import Client, PatchType
from intact.kube.errors import NotFound
from intact.kube.resources import untyped
from intact.operator.errors import StartError
from intact.operator.install.crds import definitions

log = logging.getLogger(__name__)

CRDS = untyped(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
_GENERATED = "controller-gen.kubebuilder.io/version"
"""On the CRDs of products that are written in Go: theirs may have the same versions as ours."""
_ESTABLISHED_WITHIN = 60.0
_PAUSE = 0.1


async def install(client: Client) -> None:
    """Apply the CRDs, and wait until they are served.

    Raises `StartError` if another product owns a CRD or a CRD is never served, and `KubeError`.
    """
    for definition in definitions():
        await _apply(client, definition)


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
        _refuse_foreign(found, definition)
    await client.patch(CRDS, definition, name, type=PatchType.APPLY, force=True)
    return True


def _refuse_foreign(found: dict[str, Any], definition: dict[str, Any]) -> None:
    """A definition with other versions, or made by a generator, is another product's: its objects
    would be lost, or held by two products."""
    ours = {version["name"] for version in definition["spec"]["versions"]}
    foreign = sorted({version["name"] for version in found["spec"]["versions"]} - ours)
    if _GENERATED in (found["metadata"].get("annotations") or {}):
        foreign.append(f"the annotation {_GENERATED}")
    if foreign:
        raise StartError(
            f"the cluster has a CRD {definition['metadata']['name']} with {', '.join(foreign)}, "
            "which is not Intact's (OpenKruise's?); the two cannot share a CRD: uninstall the "
            "other product first"
        )


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
