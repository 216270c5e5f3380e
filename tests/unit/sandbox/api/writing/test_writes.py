"""Creating and updating beside other writers. One writer alone: the contract."""

import asyncio

from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict
from intact.kube.transport import Request
from intact.sandbox import Kind, MemoryApi, run
from intact.sandbox.api.objects import Json
from tests.support.objects import CONFIGMAPS, WIDGETS, configmap, widget


async def test_a_put_makes_a_lease_that_is_not_there(api: MemoryApi) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    body = b'{"metadata":{"name":"l"},"spec":{}}'
    assert (await api.send(Request("PUT", path, body=body))).status == 201
    assert (await api.send(Request("PUT", path, body=body))).status == 422


async def test_managed_fields_can_be_left_out() -> None:
    client = Client(MemoryApi(managed_fields=False))
    made = await client.create(CONFIGMAPS, configmap("c", {"k": "v"}), "default")
    assert "managedFields" not in made["metadata"]
    applied = await client.patch(
        CONFIGMAPS,
        configmap("c", {"k": "w"}),
        "c",
        "default",
        type=PatchType.APPLY,
        field_manager="m",
    )
    assert applied["data"] == {"k": "w"}


def test_patches_never_conflict_and_swaps_do() -> None:
    """Many writers at once: each patch counts, and one swap of a version wins."""

    async def main() -> int:
        api = MemoryApi()
        api.register(Kind(WIDGETS.group, WIDGETS.version, WIDGETS.plural, WIDGETS.kind))
        client = Client(api)
        made = await client.create(WIDGETS, widget("w"), "default")

        async def patch(number: int) -> None:
            await client.patch(WIDGETS, {"spec": {f"n{number}": number}}, "w", "default")

        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(patch(number))
        patched = await client.get(WIDGETS, "w", "default")
        assert len(patched["spec"]) == 9
        assert patched["metadata"]["generation"] == made["metadata"]["generation"] + 8

        async def swap(number: int) -> bool:
            try:
                await client.update(WIDGETS, patched | {"spec": {"by": number}}, "w", "default")
            except Conflict:
                return False
            return True

        swapped = await asyncio.gather(*(swap(number) for number in range(8)))
        return sum(swapped)

    assert {run(main(), seed=seed) for seed in range(15)} == {1}


def test_appliers_of_one_new_object_do_not_meet_already_exists() -> None:
    async def main() -> Json:
        client = Client(MemoryApi())

        async def apply(manager: str) -> None:
            await client.patch(
                CONFIGMAPS,
                configmap("c", {manager: "x"}),
                "c",
                "default",
                type=PatchType.APPLY,
                field_manager=manager,
            )

        async with asyncio.TaskGroup() as group:
            for manager in ("a", "b", "c"):
                group.create_task(apply(manager))
        data: Json = (await client.get(CONFIGMAPS, "c", "default"))["data"]
        return data

    for seed in range(15):
        assert run(main(), seed=seed) == {"a": "x", "b": "x", "c": "x"}
