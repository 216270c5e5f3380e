"""Changes the spec of a RoleBasedGroup on what is stored, and again after a conflict: Intact writes
the status of a RoleBasedGroup all the time that a rollout moves."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import click

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict
from intact.kube.resources import RBGS, untyped
from intact.kube.retry import Backoff

Json = dict[str, Any]
MANAGER = "intact-cli"
"""Who has changed the spec, in managedFields: a person, and not the operator."""
_UNTYPED = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)
"""So that no field of the spec is lost that the typed view does not have."""
_MOST = 20
"""Conflicts in a row, after which something else must be wrong."""
_PAUSES = Backoff(first=0.02, most=0.5)


async def edit(client: Client, namespace: str, name: str, change: Callable[[Json], Json]) -> bool:
    """`change` makes the new spec from the stored one, and is called again after a conflict. What
    it raises ends the edit. Returns whether there was anything to write."""
    for conflicts in range(1, _MOST + 1):
        live = await client.get(_UNTYPED, name, namespace)
        patch = _patch(live, change(live["spec"]))
        if not patch:
            return False
        try:
            await client.patch(
                _UNTYPED, patch, name, namespace, type=PatchType.JSON, field_manager=MANAGER
            )
        except Conflict:
            await asyncio.sleep(_PAUSES.delay(conflicts, random.Random()))
        else:
            return True
    raise click.ClickException(
        f"RoleBasedGroup {namespace}/{name} was changed by others {_MOST} times in a row while "
        "this command tried to change it; nothing was written"
    )


def _patch(live: Json, spec: Json) -> list[Json]:
    """Of the fields that differ; none if the spec is the same."""
    before = live["spec"]
    found: list[Json] = [
        {"op": "add", "path": f"/spec/{key}", "value": value}
        for key, value in spec.items()
        if key not in before or before[key] != value
    ]
    found += [{"op": "remove", "path": f"/spec/{key}"} for key in before if key not in spec]
    if not found:
        return []
    # "replace", not "test": after an edit this is a Conflict, not an Invalid.
    version = live["metadata"]["resourceVersion"]
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}, *found]
