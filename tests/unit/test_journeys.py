"""The three journeys of docs/architecture.md pass the modules that the page names, in that order.

Each is taken on the API in memory, and every module whose code runs on the way is noted. The page
does not name `model`, which all others read and write, nor the plumbing of `kube`.
"""

import asyncio
import re
import sys
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType
from typing import Any, Self, TypeVar

import msgspec
import pytest

from intact.kube.store import Key
from intact.kube.transport import Request
from intact.operator.rbg.reconcile import RbgReconciler
from intact.operator.webhook import server
from tests.support.admission import review
from tests.support.objects import NODES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, Scene, running
from tests.unit.operator.rbg.scene import grouping
from tests.unit.operator.rbg.test_interrupted import coordinated, image

T = TypeVar("T")
ARCHITECTURE = (Path(__file__).parents[2] / "docs/architecture.md").read_text()
PLUMBING = {
    *("client", "decoding", "events", "nesting", "queue", "resources", "strategic", "transport"),
    "yaml_text",
}
GROUPS = {"groupLabelKey": "shard", "minReadyReplicas": 2}


def named(journey: str) -> list[str]:
    """The modules that the page names for a journey."""
    section = ARCHITECTURE.partition(f"### {journey}\n")[2].partition("\n##")[0]
    return re.findall(r"`((?:budget|rollout|kube|operator)/[\w/]+)`", section)


class Trace:
    """Notes modules by their first step, of all tasks but the one that made it."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self._stopped = False
        self._made_by = asyncio.current_task()

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """The journey is over, whatever comes then."""
        self._stopped = True
        sys.setprofile(None)

    def begin_again(self) -> None:
        if not self._stopped:
            self.modules.clear()

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("intact."):
            return
        _, room, *rest = name.split(".")
        # An earlier test may have set up the format of logs.
        if room in ("model", "sandbox", "cli") or (room == "kube" and rest[0] in PLUMBING):
            return
        if _current_task() is not self._made_by:
            self.modules.setdefault("/".join((room, *rest)))


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # between two steps of the loop
        return None


async def in_a_task(work: Coroutine[Any, Any, T]) -> T:
    """A trace leaves out the task of its test."""
    return await asyncio.create_task(work)


async def three_shards(scene: Scene, **spec: Any) -> None:
    for shard in range(3):
        labels = {"app": "a", "shard": f"s{shard}"}
        await scene.pods(f"{shard}-0", f"{shard}-1", labels=labels)
    await scene.budget(podGroupPolicy=GROUPS, **spec)
    await scene.settle(10)


@simulated
async def test_a_pod_event_passes_the_named_modules_on_its_way_to_the_status() -> None:
    async with running() as scene:
        await three_shards(scene)
        assert scene.numbers() == (1, 3, 2, 3)
        with Trace() as trace:

            def stop_at_the_write(request: Request) -> float:
                if request.method == "PUT" and request.path.endswith("/status"):
                    trace.stop()
                return 0.0

            scene.wires[0].delay = stop_at_the_write
            await scene.set_ready("1-0", False)
            await scene.settle()
        assert scene.numbers() == (0, 2, 2, 3)
    assert list(trace.modules) == named("A pod event, to the status")


@simulated
async def test_a_delete_passes_the_named_modules_on_its_way_to_the_429() -> None:
    async with running() as scene:
        await three_shards(scene, maxUnavailable=0)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        await scene.client.create(NODES, node)
        pod = scene.api.peek("pods", NS, "1-0")
        body = review(operation="DELETE", namespace=NS, name="1-0", oldObject=pod)
        with Trace() as trace:
            answer: Any = await in_a_task(
                server.reviewed("/gate", scene.controller.gate.review, body, server.Problems())
            )
        assert msgspec.json.decode(answer.body)["response"]["status"]["code"] == 429
    assert list(trace.modules) == named("A delete, to its 429")


@simulated
async def test_a_template_passes_the_named_modules_on_its_way_to_the_eviction() -> None:
    """The first reconcile stores the template and lets nothing go; the one that evicts counts."""
    trace = Trace()
    reconcile = RbgReconciler.reconcile

    async def begin_with_the_last(reconciler: RbgReconciler, key: Key) -> None:
        trace.begin_again()
        await reconcile(reconciler, key)

    def stop_at_the_eviction(request: Request) -> float:
        if request.path.endswith("/eviction"):
            trace.stop()
        return 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RbgReconciler, "reconcile", begin_with_the_last)
        async with grouping() as scene:
            await scene.make(coordinated())
            await scene.play()
            scene.wire.delay = stop_at_the_eviction
            with trace:
                await scene.change(*image("engine:2", 0, 1))
            assert any(one.path.endswith("/eviction") for one in scene.wire.sent)
    assert list(trace.modules) == named("A template, to the eviction")
