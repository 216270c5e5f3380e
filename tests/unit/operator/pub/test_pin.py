"""Evictions are pinned to the pod that has the name when they arrive."""

import base64
from typing import Any

import msgspec
import pytest

from intact.operator.pub.pin import NO_POD, PINNED
from intact.operator.webhook import probe
from intact.sandbox import Moment
from tests.support.objects import Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, Scene, running


async def pinned(scene: Scene, name: str, **options: Any) -> Json:
    """The eviction with these options, as the webhook leaves it."""
    request: Json = {"uid": "u", "name": name, "namespace": NS, "object": options}
    answer = await scene.pin(request, scene.controller)
    assert answer["allowed"]
    if "patch" not in answer:
        return options
    options.setdefault("metadata", {})
    for operation in msgspec.json.decode(base64.b64decode(answer["patch"])):
        assert operation["op"] == "add"
        *parents, last = operation["path"].strip("/").split("/")
        place = options
        for parent in parents:
            place = place[parent]
        place[last.replace("~1", "/")] = operation["value"]
    return options


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"deleteOptions": {"gracePeriodSeconds": 5}},
        {"deleteOptions": {"preconditions": {"resourceVersion": "7"}}},
        {"deleteOptions": {"preconditions": {"uid": ""}}},
    ],
)
@simulated
async def test_the_uid_of_the_pod_is_put_in_and_nothing_else_changes(options: Json) -> None:
    async with running() as scene:
        uid = (await scene.pod("p"))["metadata"]["uid"]
        before = msgspec.json.decode(msgspec.json.encode(options))
        found = await pinned(scene, "p", **options)
        assert found["deleteOptions"]["preconditions"].pop("uid") == uid
        assert found.pop("metadata")["annotations"].pop(PINNED) == "true"
        before.setdefault("deleteOptions", {}).setdefault("preconditions", {}).pop("uid", None)
        assert found == before


@simulated
async def test_an_eviction_that_names_a_pod_stays_as_it_is() -> None:
    async with running() as scene:
        await scene.pod("p")
        named = {"deleteOptions": {"preconditions": {"uid": "of another pod"}}}
        assert await pinned(scene, "p", **named) == named
        assert await scene.evict("p", uid="of another pod") == 409
        assert scene.names() == {"p"}


@simulated
async def test_an_eviction_of_no_pod_cannot_take_one_that_comes_meanwhile() -> None:
    async with running() as scene:
        found = await pinned(scene, "p")
        assert found["deleteOptions"]["preconditions"]["uid"] == NO_POD
        assert await scene.evict("p") == 404


@simulated
async def test_the_probe_is_marked_as_pinned() -> None:
    async with running() as scene:
        sent = {"deleteOptions": {"preconditions": {"uid": probe.UID}}}
        found = await pinned(scene, probe.NAME, **sent)
        assert found["deleteOptions"]["preconditions"]["uid"] == probe.PINNED


@simulated
async def test_a_pod_that_cannot_be_read_is_not_evicted() -> None:
    async with running() as scene:
        await scene.pod("p")
        scene.faults.fail_randomly(1.0, Moment.BEFORE, lambda request: request.method == "GET")
        request: Json = {"uid": "u", "name": "p", "namespace": NS, "object": {}}
        answer = await scene.pin(request, scene.controller)
        assert not answer["allowed"]
        assert answer["status"]["code"] == 429
        assert answer["auditAnnotations"] == {"decision": "denied", "reason": "Undecided"}


@simulated
async def test_an_eviction_without_a_namespace_is_refused() -> None:
    async with running() as scene:
        await scene.pod("p")
        request: Json = {"uid": "u", "name": "p", "object": {}}
        answer = await scene.pin(request, scene.controller)
        assert (answer["allowed"], answer["status"]["code"]) == (False, 429)
