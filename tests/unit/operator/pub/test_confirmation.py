"""Which pod a review is about: the one that the API has, or none."""

import msgspec
import pytest

from intact.model.pod import PodMeta
from intact.operator.pub.confirmation import NotOfTheApi
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, Scene, running
from tests.unit.operator.pub.test_index import A


def shown(scene: Scene, name: str, **changes: str) -> PodMeta:
    meta = msgspec.convert((scene.api.peek("pods", NS, "p") or {})["metadata"], PodMeta)
    return msgspec.structs.replace(meta, name=name, **changes)


@simulated
async def test_a_version_that_the_store_has_costs_no_read() -> None:
    async with running() as scene:
        await scene.pods("p", labels=A)
        await scene.settle()
        reads = scene.wires[0].count("GET", "/pods/p")
        found = await scene.controller.confirmation.of(shown(scene, "p", creation_timestamp="x"))
        assert found is scene.controller.pods.store.get(NS, "p")
        assert scene.wires[0].count("GET", "/pods/p") == reads


@simulated
async def test_of_an_earlier_version_the_api_tells_the_truth() -> None:
    async with running() as scene:
        await scene.pods("p", labels=A)
        await scene.settle()
        found = await scene.controller.confirmation.of(shown(scene, "p", resource_version="1"))
        assert found is not None
        assert found.metadata == shown(scene, "p")


@pytest.mark.parametrize("version", ["999999999999999", "9" * 5000, "abc", "-1", "٣", ""])
@simulated
async def test_no_api_server_shows_a_version_that_the_api_has_not_reached(version: str) -> None:
    async with running() as scene:
        await scene.pods("p", labels=A)
        await scene.settle()
        with pytest.raises(NotOfTheApi, match="has not reached"):
            await scene.controller.confirmation.of(shown(scene, "p", resource_version=version))


@simulated
async def test_a_pod_that_is_newer_than_the_store_is_read() -> None:
    async with running() as scene:
        scene.faults.hold_watches()
        await scene.pods("p", labels=A)
        found = await scene.controller.confirmation.of(shown(scene, "p"))
        assert found is not None


@simulated
async def test_another_name_or_uid_stands_for_no_pod() -> None:
    async with running() as scene:
        await scene.pods("p", labels=A)
        await scene.settle()
        of = scene.controller.confirmation.of
        assert await of(shown(scene, "q")) is None
        assert await of(shown(scene, "p", uid="another")) is None
        assert await of(shown(scene, "p", uid="")) is None


@simulated
async def test_what_has_no_namespace_stands_for_no_pod() -> None:
    async with running() as scene:
        await scene.pods("p", labels=A)
        await scene.settle()
        assert await scene.controller.confirmation.of(shown(scene, "p", namespace="")) is None
