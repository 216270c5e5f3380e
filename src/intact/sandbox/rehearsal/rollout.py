"""Rolls a RoleBasedGroup of the copy out: with templates of a file, or the present ones anew."""

import asyncio
from collections.abc import Sequence

import msgspec

from intact.kube.client import PatchType
from intact.kube.resources import RBGS, untyped
from intact.model.rbg import RoleBasedGroup
from intact.sandbox.api.objects import Json, copied
from intact.sandbox.rehearsal.stage import Stage
from intact.sandbox.snapshot.reduction import DIGEST, Reduction

_RBGS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)
_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_LOOK_EVERY = 1.0


def restarted(group: Json) -> Json:
    """The RoleBasedGroup with templates that differ from the present ones in nothing that pods
    would show, as after `kubectl rollout restart`."""
    made = copied(group)
    for role in made["spec"].get("roles") or ():
        meta = role.setdefault("template", {}).setdefault("metadata", {})
        annotations = meta.get("annotations") or {}
        meta["annotations"] = annotations | {_RESTARTED: "rehearsal"}
    return made


def changed(present: Json, given: Json) -> Json:
    """The present RoleBasedGroup with the spec of a file. Roles whose templates differ in nothing
    that a snapshot keeps stay as they are; if that holds for all, all are rolled out: what differs
    is then in what it leaves out."""
    made = copied(present)
    made["spec"] = Reduction().of_roles(given)["spec"]
    known = {role["name"]: role for role in present["spec"].get("roles") or ()}
    differs = False
    for role in made["spec"].get("roles") or ():
        old = known.get(role.get("name", ""))
        if old is None or _visible(role) != _visible(old):
            differs = True
            continue
        for part in ("template", "leaderWorkerSet"):
            if part in old:
                role[part] = copied(old[part])
    return made if differs else restarted(made)


def _visible(role: Json) -> Json:
    """What can be compared: without the digests of what was left out."""
    found = {part: copied({"": role.get(part)})[""] for part in ("template", "leaderWorkerSet")}
    return _without_digests(found)


def _without_digests(value: Json) -> Json:
    for key, each in list(value.items()):
        if key == DIGEST:
            del value[key]
        elif isinstance(each, dict):
            _without_digests(each)
            if key in ("annotations", "metadata") and not each:
                del value[key]
    return value


async def roll_out(stage: Stage, groups: Sequence[Json]) -> bool:
    """Returns whether all of them were done."""
    stage.observer.changed()
    names = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in groups]
    for (namespace, name), group in zip(names, groups, strict=True):
        present = await stage.client.get(_RBGS, name, namespace)
        left_out = dict.fromkeys(present["spec"])  # None removes it
        body = {"spec": left_out | group["spec"]}
        await stage.client.patch(_RBGS, body, name, namespace, type=PatchType.MERGE)
    while not all(_is_done(stage, *each) for each in names):
        if stage.is_still():
            return False
        await asyncio.sleep(_LOOK_EVERY)
    return True


def _is_done(stage: Stage, namespace: str, name: str) -> bool:
    found = stage.api.peek(RBGS.full_name, namespace, name)
    if found is None:
        return False
    group = msgspec.convert(found, RoleBasedGroup)
    status = group.status
    ready = status.condition("Ready")
    return (
        status.observed_generation == group.metadata.generation
        and ready is not None
        and ready.status == "True"
        and all(one.updated_ready_replicas >= one.desired for one in status.role_statuses)
    )
