"""What an object controls."""

from intact.kube.client import Client
from intact.sandbox import MemoryApi
from intact.sandbox.controllers.owned import Owned
from tests.support.objects import PODS, Json, pod

SET: Json = {"metadata": {"uid": "s"}}
OTHER: Json = {"metadata": {"uid": "t"}}


def owned_by(*uids: str, controller: bool = True) -> list[Json]:
    return [
        {"apiVersion": "v1", "kind": "K", "name": uid, "uid": uid, "controller": controller}
        for uid in uids
    ]


async def test_objects_are_found_by_their_controller_until_they_go(
    api: MemoryApi, client: Client
) -> None:
    await client.create(PODS, pod("a", ownerReferences=owned_by("s")), "default")
    found = Owned(api, "pods")
    await client.create(PODS, pod("b", ownerReferences=owned_by("s")), "default")
    await client.create(PODS, pod("c", ownerReferences=owned_by("s", controller=False)), "default")
    await client.create(PODS, pod("d"), "default")
    assert [each["metadata"]["name"] for each in found.of(SET)] == ["a", "b"]

    await client.patch(PODS, {"metadata": {"ownerReferences": owned_by("t")}}, "b", "default")
    assert [each["metadata"]["name"] for each in found.of(OTHER)] == ["b"]
    await client.delete(PODS, "a", "default", grace_period_seconds=0)
    assert found.of(SET) == []
