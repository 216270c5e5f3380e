"""The templates that a LeaderWorkerSet has had, each under a key that its pods carry."""

from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.controller import Shared
from intact.sandbox.controllers.hashes import short_hash
from intact.sandbox.controllers.leader_worker_set.kind import NAME, REVISION
from intact.sandbox.controllers.pods import owner_reference
from intact.sandbox.controllers.resources import CONTROLLER_REVISIONS


def _data(each: Json) -> Json:
    return {"spec": {"leaderWorkerTemplate": each["spec"]["leaderWorkerTemplate"]}}


async def revision_key(shared: Shared, each: Json, leaders: Json | None) -> tuple[str, bool]:
    """The key of the present template, and whether it is new to the StatefulSet of leaders."""
    known = {_key(one): one for one in shared.revisions.of(each)}
    if leaders is not None:
        key = leaders["metadata"]["labels"].get(REVISION, "")
        if key in known and known[key]["data"] == _data(each):
            return key, False
    key = short_hash(_data(each))
    if key not in known:
        await _create(shared, each, key, len(known) + 1)
    return key, leaders is not None


async def adopt(shared: Shared, each: Json, leaders: Json) -> None:
    """A set that was there before this controller has the template that its leaders have, however
    its own controller has written that down."""
    key = leaders["metadata"]["labels"].get(REVISION, "")
    for one in shared.revisions.of(each):
        if _key(one) == key:
            if one["data"] != _data(each):
                meta, body = one["metadata"], {**one, "data": _data(each)}
                await shared.client.update(
                    CONTROLLER_REVISIONS, body, meta["name"], meta["namespace"]
                )
            return
    await _create(shared, each, key, len(shared.revisions.of(each)) + 1)


def as_of(shared: Shared, each: Json, key: str) -> Json:
    """The set with the template that it had under this key."""
    for one in shared.revisions.of(each):
        if _key(one) == key:
            kept = one["data"]["spec"]["leaderWorkerTemplate"]
            template = {name: value for name, value in kept.items() if name != "$patch"}
            return {**each, "spec": {**each["spec"], "leaderWorkerTemplate": template}}
    return each


async def forget_others(shared: Shared, each: Json, key: str) -> None:
    """Once an update is done, only its revision is kept."""
    for one in shared.revisions.of(each):
        if _key(one) != key:
            meta = one["metadata"]
            await shared.client.delete(CONTROLLER_REVISIONS, meta["name"], meta["namespace"])


def _key(revision: Json) -> str:
    return str(revision["metadata"]["labels"].get(REVISION, ""))


async def _create(shared: Shared, each: Json, key: str, number: int) -> None:
    meta = each["metadata"]
    body = {
        "metadata": {
            "name": f"{meta['name']}-{key}-{number}",
            "labels": {NAME: meta["name"], REVISION: key},
            "ownerReferences": [owner_reference(each)],
        },
        "data": _data(each),
        "revision": number,
    }
    await shared.client.create(CONTROLLER_REVISIONS, body, meta["namespace"])
