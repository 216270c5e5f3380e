"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet has had."""

from dataclasses import dataclass

from intact.kube.errors import AlreadyExists
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.hashes import short_hash
from intact.sandbox.controllers.pods import owner_reference
from intact.sandbox.controllers.resources import CONTROLLER_REVISIONS

HASH_LABEL = "controller.kubernetes.io/hash"
_LONGEST_PREFIX = 223


@dataclass(frozen=True, slots=True)
class Latest:
    revision: Json
    collisions: int
    """How often the name of a new revision was taken by another one."""

    @property
    def name(self) -> str:
        return str(self.revision["metadata"]["name"])


def revisions_of(shared: Shared, owner: Json) -> list[Json]:
    """Oldest first."""
    return sorted(
        shared.revisions.of(owner),
        key=lambda each: (each["revision"], each["metadata"]["creationTimestamp"]),
    )


def template_of(revision: Json) -> Json:
    kept = revision["data"]["spec"]["template"]
    return {name: value for name, value in kept.items() if name != "$patch"}


def is_observed(owner: Json) -> bool:
    """Its status was found for the present template."""
    seen = owner.get("status", {}).get("observedGeneration")
    return bool(seen == owner["metadata"].get("generation"))


async def latest_revision(
    shared: Shared, owner: Json, hash_label: str = HASH_LABEL, *, seen: str = ""
) -> Latest:
    """The revision of the present template. An older one with the same template becomes the newest;
    a template that is new gets a revision of its own.

    `seen` is the hash that the present template is known to have. So a workload from elsewhere,
    whose revisions are missing or in another form, is not rolled out anew.
    """
    collisions = owner.get("status", {}).get("collisionCount", 0)
    known = revisions_of(shared, owner)
    data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    equal = [each for each in known if each["data"] == data]
    if equal and equal[-1] is known[-1]:
        return Latest(equal[-1], collisions)
    number = known[-1]["revision"] + 1 if known else 1
    meta = owner["metadata"]
    prefix = meta["name"][:_LONGEST_PREFIX]
    named = [each for each in known if each["metadata"]["name"] == f"{prefix}-{seen}"]
    if named:
        return Latest(named[0], collisions)
    if equal:
        name = equal[-1]["metadata"]["name"]
        body = {"revision": number}
        raised = await shared.client.patch(CONTROLLER_REVISIONS, body, name, meta["namespace"])
        return Latest(raised, collisions)
    while True:
        suffix, seen = seen or short_hash(data, collisions), ""
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        revision = {
            "metadata": {
                "name": f"{prefix}-{suffix}",
                "labels": {**labels, hash_label: suffix},
                "annotations": dict(meta.get("annotations") or {}),
                "ownerReferences": [owner_reference(owner)],
            },
            "data": data,
            "revision": number,
        }
        try:
            made = await shared.client.create(CONTROLLER_REVISIONS, revision, meta["namespace"])
        except AlreadyExists:
            collisions += suffix == short_hash(data, collisions)
        else:
            return Latest(made, collisions)


async def truncate_history(shared: Shared, owner: Json, live: set[str], limit: int) -> None:
    """Delete the oldest revisions beyond the limit, except those that are in use."""
    old = [each for each in revisions_of(shared, owner) if each["metadata"]["name"] not in live]
    for revision in old[: max(0, len(old) - limit)]:
        meta = revision["metadata"]
        await shared.client.delete(CONTROLLER_REVISIONS, meta["name"], meta["namespace"])
