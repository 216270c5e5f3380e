"""Changes the spec of a RoleBasedGroup on what is stored.

Intact writes the status of a RoleBasedGroup all the time that a rollout moves. So a change does not
ask for the version that was read, but for the fields that it replaces: the API server itself brings
it and other writes in an order. If one of these fields has changed, it is read and tried again.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import click

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict, Invalid
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
    refused: Invalid | None = None
    before: Json = {}
    for conflicts in range(1, _MOST + 1):
        spec = (await client.get(_UNTYPED, name, namespace))["spec"]
        patch = _patch(spec, change(spec))
        if refused is not None and spec == before:
            raise refused  # not because of another change
        if not patch:
            return False
        try:
            await client.patch(
                _UNTYPED, patch, name, namespace, type=PatchType.JSON, field_manager=MANAGER
            )
        except Invalid as error:
            # The server says no more of a test that fails. Its refusals of values name a field.
            if error.causes:
                raise
            refused = error
        except Conflict:
            refused = None
        else:
            return True
        before = spec
        await asyncio.sleep(_PAUSES.delay(conflicts, random.Random()))
    raise click.ClickException(
        f"RoleBasedGroup {namespace}/{name} was changed by others {_MOST} times in a row while "
        "this command tried to change it; nothing was written"
    )


def _patch(before: Json, after: Json) -> list[Json]:
    """Of the fields that differ; none if the spec is the same."""
    found: list[Json] = []
    for key in {**before, **after}:
        if key in before and key in after and before[key] == after[key]:
            continue
        path = f"/spec/{key}"
        if key in before:
            found.append({"op": "test", "path": path, "value": before[key]})
        if key in after:
            found.append({"op": "add", "path": path, "value": after[key]})
        else:
            found.append({"op": "remove", "path": path})
    return found
