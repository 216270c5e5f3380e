"""What all controllers have in common."""

import asyncio
from collections.abc import Callable

from intact.sandbox import wall_clock
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.controllers.controller import Controller, Shared
from tests.support.objects import PODS, STATEFUL_SETS, Json, pod


class Counting(Controller):
    kind = "statefulsets.apps"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.seen: list[int] = []

    def follow(self) -> list[Callable[[], None]]:
        return [self.follow_owned()]

    async def reconcile(self, obj: Json) -> None:
        self.seen.append(len(self.shared.pods.of(obj)))


async def test_an_object_is_reconciled_with_each_change_of_it_and_of_its_pods(
    api: MemoryApi,
) -> None:
    shared = Shared(api, wall_clock())
    body = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {}}},
    }
    made = await shared.client.create(STATEFUL_SETS, body, "default")
    controller = Counting(shared)
    running = asyncio.create_task(controller.run())
    while not controller.seen:
        await asyncio.sleep(0)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "s",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }
    await shared.client.create(PODS, pod("p", ownerReferences=[owner]), "default")
    await shared.client.create(PODS, pod("q"), "default")
    while controller.queue:
        await asyncio.sleep(0)
    assert controller.seen == [0, 1]
    running.cancel()
