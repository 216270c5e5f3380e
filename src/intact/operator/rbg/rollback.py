"""Gives a RoleBasedGroup the templates of one of its earlier revisions, in all roles together."""

from typing import Any

import msgspec

from intact.kube.client import Client, PatchType
from intact.kube.errors import ApiError, Conflict
from intact.kube.resources import RBGS, untyped
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.events import RbgEvents
from intact.operator.rbg.resources import REVISIONS
from intact.operator.rbg.templates import resolved
from intact.rollout.revisions import restored, template_of

_UNTYPED_RBGS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)
"""So that no field of the spec is lost that the typed view does not have."""


def earlier_spec(live: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """The spec of a RoleBasedGroup, as JSON, with the templates of a revision."""
    present = resolved(msgspec.convert(live, RoleBasedGroup))
    earlier = data["roles"]
    same = [one.name for one in present.spec.roles if template_of(one) == earlier.get(one.name)]
    return restored(live["spec"], data, same)


async def roll_back(
    client: Client, namespace: str, name: str, revision: str, *, generation: int | None = None
) -> bool:
    """False if the RoleBasedGroup has these templates already, or if it is not of the given
    generation: a user has edited it since the rollback was decided."""
    stored = await client.get(REVISIONS, revision, namespace)
    live: dict[str, Any] = await client.get(_UNTYPED_RBGS, name, namespace)
    if generation not in (None, live["metadata"]["generation"]):
        return False
    spec = earlier_spec(live, stored.data)
    if spec == live["spec"]:
        return False
    patch = [
        {
            "op": "replace",  # not test: after an edit this is a Conflict, not an Invalid
            "path": "/metadata/resourceVersion",
            "value": live["metadata"]["resourceVersion"],
        },
        {"op": "replace", "path": "/spec/roles", "value": spec["roles"]},
    ]
    await client.patch(_UNTYPED_RBGS, patch, name, namespace, type=PatchType.JSON)
    return True


async def roll_back_stalled(
    client: Client, events: RbgEvents, group: RoleBasedGroup, revision: str
) -> bool:
    """Returns whether it was refused, such as by a policy, or because the revision is gone: then it
    has to be tried again."""
    meta = group.metadata
    try:
        done = await roll_back(
            client, meta.namespace, meta.name, revision, generation=meta.generation
        )
    except Conflict:
        raise
    except ApiError as error:
        message = f"the rollout is stalled and cannot be rolled back to {revision}: {error}"
        events.say(group, "Warning", "RollbackFailed", message)
        return True
    if done:
        message = f"the rollout is stalled: rolling back to {revision}"
        events.say(group, "Warning", "RollbackStarted", message)
    return False
