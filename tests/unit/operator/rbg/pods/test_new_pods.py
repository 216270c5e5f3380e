"""What a new pod gets: the revision that routers read, and its batch."""

import base64
from typing import Any

import msgspec

from intact.rollout.names import BATCH, GROUP, REVISION, ROLE, role_revision_label
from intact.rollout.replicas import POD_INDEX
from tests.support.objects import Json
from tests.support.rbg_objects import batches, group, role, rolling
from tests.support.rbg_waiting import STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping

COORDINATED = [rolling("prefill", "decode")]


def path(key: str) -> str:
    return "/metadata/labels/" + key.replace("/", "~1")


async def answer(scene: Scene, labels: dict[str, str]) -> dict[str, Any]:
    """The patch of a pod with these labels, by path."""
    pod = {"metadata": {"name": "llm-decode-3", "labels": labels}, "spec": {}}
    request = {"uid": "u", "namespace": NS, "operation": "CREATE", "object": pod}
    raw = msgspec.Raw(msgspec.json.encode(request))
    found = await scene.controller.new_pods.review(raw)
    assert found.allowed
    patch: list[Json] = msgspec.json.decode(base64.b64decode(found.patch)) if found.patch else []
    return {one["path"]: one.get("value", one["op"]) for one in patch}


async def two_roles(scene: Scene, *coordination: Json) -> dict[str, str]:
    """Returns the labels of a pod of decode, as its template has them."""
    roles = role("prefill", 4), role("decode", 4)
    await scene.make(group("llm", *roles, coordination=list(coordination)))
    await scene.play(STATEFUL_SETS)
    template = scene.get(STATEFUL_SETS, "llm-decode")["spec"]["template"]
    return {**template["metadata"]["labels"], POD_INDEX: "3"}


@simulated
async def test_a_new_pod_has_the_label_of_the_pods_that_are_there() -> None:
    async with grouping() as scene:
        labels = await two_roles(scene, *COORDINATED)
        [there] = {one["metadata"]["labels"][REVISION] for one in scene.pods()}
        assert await answer(scene, labels) == {path(REVISION): there}
        assert await answer(scene, {**labels, REVISION: "forged"}) == {path(REVISION): there}


@simulated
async def test_an_unknown_template_gets_no_label_and_a_forged_one_goes() -> None:
    async with grouping() as scene:
        labels = await two_roles(scene, *COORDINATED)
        unknown = {**labels, role_revision_label("decode"): "0123456789"}
        assert await answer(scene, unknown) == {}
        assert await answer(scene, {**unknown, REVISION: "forged"}) == {path(REVISION): "remove"}


@simulated
async def test_a_role_without_a_rolling_update_gets_none() -> None:
    async with grouping() as scene:
        assert await answer(scene, await two_roles(scene)) == {}


@simulated
async def test_a_pod_of_no_role_is_left_alone() -> None:
    async with grouping() as scene:
        labels = await two_roles(scene, *COORDINATED)
        assert await answer(scene, {**labels, ROLE: "router"}) == {}
        assert await answer(scene, {**labels, GROUP: "other"}) == {}


@simulated
async def test_a_pod_in_batches_gets_its_number_and_one_without_an_ordinal_does_not() -> None:
    async with grouping() as scene:
        labels = await two_roles(scene, batches({"prefill": 2, "decode": 2}, "Parallel"))
        found = await answer(scene, labels)
        assert found[path(BATCH + "batched")] == "1"
        assert found[path("coordination.workloads.x-k8s.io/batched")] == "member"
        assert "/spec/affinity" in found
        assert await answer(scene, {**labels, POD_INDEX: "x"}) == {}
