"""Events over the API in memory: how often they are written, and what becomes of the rest."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.events import BURST, COMBINED, WAITING, EventRecorder
from intact.kube.resources import EVENTS
from intact.model.event import ObjectReference
from intact.sandbox import MemoryApi, Moment, Rule, wall_clock
from tests.support.objects import CONFIGMAPS, NAMESPACES, configmap
from tests.unit.kube.simulated import simulated

Json = dict[str, Any]
POD = ObjectReference(api_version="v1", kind="Pod", namespace="default", name="p", uid="u")
OTHER = ObjectReference(api_version="v1", kind="Pod", namespace="default", name="o", uid="v")


class Scene:
    def __init__(self) -> None:
        self.api = MemoryApi()
        self.client = Client(self.api)
        self.recorder = EventRecorder(self.client, "intact", "pod-1", now=wall_clock())

    def record(self, reason: str, message: str, regarding: ObjectReference = POD) -> None:
        self.recorder.record(regarding, "Normal", reason, message)

    async def written(self) -> list[Json]:
        await self.recorder.flush()
        return sorted(self.api.objects("events"), key=lambda event: event["metadata"]["name"])

    async def summary(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in await self.written()]


@asynccontextmanager
async def recording() -> AsyncGenerator[Scene, None]:
    scene = Scene()
    running = asyncio.create_task(scene.recorder.run())
    yield scene
    assert not running.done()
    running.cancel()
    await asyncio.wait({running})


@simulated
async def test_the_fields_of_an_event() -> None:
    async with recording() as scene:
        scene.recorder.record(POD, "Warning", "Denied", "the budget is spent")
        [event] = await scene.written()
        metadata = event.pop("metadata")
        assert metadata["namespace"] == "default"
        assert metadata["name"].startswith("p.")
        assert event == {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": "default",
                "name": "p",
                "uid": "u",
            },
            "type": "Warning",
            "reason": "Denied",
            "message": "the budget is spent",
            "count": 1,
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "source": {"component": "intact"},
            "reportingComponent": "intact",
            "reportingInstance": "pod-1",
        }


@simulated
async def test_what_counts_as_another_event_is_one_with_it_and_shows_the_last_message() -> None:
    async with recording() as scene:
        for user in ("alice", "bob", "carol"):
            scene.recorder.record(POD, "Normal", "Denied", f"by {user}: spent", counts_as="spent")
            await scene.recorder.flush()
        assert await scene.summary() == [("by carol: spent", 3)]


@simulated
async def test_an_object_without_a_namespace_is_told_of_in_default() -> None:
    async with recording() as scene:
        scene.record("Drained", "empty", ObjectReference(kind="Node", name="n"))
        [event] = await scene.written()
        assert event["metadata"]["namespace"] == "default"


@simulated
async def test_the_same_event_again_raises_its_count() -> None:
    async with recording() as scene:
        for _ in range(3):
            scene.record("Waits", "for a pod")
            await asyncio.sleep(10)
        [event] = await scene.written()
        assert event["count"] == 3
        assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
        assert event["lastTimestamp"] == "2026-01-01T00:00:20Z"


@pytest.mark.parametrize(
    "other",
    [
        (OTHER, "Normal", "Waits", "for a pod"),
        (POD, "Warning", "Waits", "for a pod"),
        (POD, "Normal", "Denied", "for a pod"),
        (POD, "Normal", "Waits", "for a node"),
    ],
    ids=["object", "type", "reason", "message"],
)
@simulated
async def test_an_event_that_differs_is_written_apart(other: Any) -> None:
    async with recording() as scene:
        scene.recorder.record(POD, "Normal", "Waits", "for a pod")
        scene.recorder.record(*other)
        assert [event["count"] for event in await scene.written()] == [1, 1]


class TestSimilar:
    @simulated
    async def test_too_many_that_differ_in_their_message_become_one(self) -> None:
        async with recording() as scene:
            for number in range(13):
                scene.record("Waits", f"for pod {number}")
            first = [(f"for pod {number}", 1) for number in range(10)]
            combined = (f"{COMBINED}for pod 12", 3)
            assert sorted(await scene.summary()) == sorted([*first, combined])

    @simulated
    async def test_a_message_that_is_known_is_still_counted_as_itself(self) -> None:
        async with recording() as scene:
            for number in [*range(12), 3]:
                scene.record("Waits", f"for pod {number}")
            assert ("for pod 3", 2) in await scene.summary()

    @simulated
    async def test_after_ten_minutes_they_are_told_apart_again(self) -> None:
        async with recording() as scene:
            for number in range(11):
                scene.record("Waits", f"for pod {number}")
            await asyncio.sleep(601)
            scene.record("Waits", "for pod 99")
            assert ("for pod 99", 1) in await scene.summary()

    @simulated
    async def test_another_object_has_its_own_ten(self) -> None:
        async with recording() as scene:
            for number in range(11):
                scene.record("Waits", f"for pod {number}")
            scene.record("Waits", "for pod 99", OTHER)
            assert ("for pod 99", 1) in await scene.summary()


class TestBurst:
    @simulated
    async def test_a_reason_gets_so_many_and_then_one_every_five_minutes(self) -> None:
        async with recording() as scene:
            for _ in range(BURST + 5):
                scene.record("Waits", "text")
            assert await scene.summary() == [("text", BURST)]
            assert scene.recorder.dropped == 5
            for _ in range(3):
                await asyncio.sleep(300)
                for _ in range(2):
                    scene.record("Waits", "text")
                await scene.recorder.flush()
            assert scene.recorder.dropped == 5 + 3
            assert await scene.summary() == [("text", BURST + 5 + 5)]

    @simulated
    async def test_what_is_held_back_is_in_the_count_of_the_next(self) -> None:
        async with recording() as scene:
            for _ in range(BURST):
                scene.record("Waits", "text")
            for times in (1, 5):
                scene.recorder.record(POD, "Normal", "Waits", "text", times=times)
            await scene.recorder.flush()
            await asyncio.sleep(300)
            scene.recorder.record(POD, "Normal", "Waits", "text", times=10)
            assert await scene.summary() == [("text", BURST + 1 + 5 + 10)]

    @pytest.mark.parametrize(
        ("reason", "regarding"), [("Waits", OTHER), ("Denied", POD)], ids=["object", "reason"]
    )
    @simulated
    async def test_another_one_is_not_held_up(
        self, reason: str, regarding: ObjectReference
    ) -> None:
        async with recording() as scene:
            for _ in range(BURST + 5):
                scene.record("Waits", "text")
            scene.record(reason, "of the other", regarding)
            assert ("of the other", 1) in await scene.summary()


class TestSeries:
    @simulated
    async def test_it_is_one_event_with_the_last_message(self) -> None:
        async with recording() as scene:
            for number in range(13):
                scene.recorder.record(POD, "Normal", "Flaps", f"{number} ready", series="")
            assert await scene.summary() == [("12 ready", 13)]

    @simulated
    async def test_each_series_is_an_event_of_its_own(self) -> None:
        async with recording() as scene:
            for number in range(3):
                for role in ("prefill", "decode"):
                    message = f"{role}: {number} ready"
                    scene.recorder.record(POD, "Normal", "Flaps", message, series=role)
            assert sorted(await scene.summary()) == [
                ("decode: 2 ready", 3),
                ("prefill: 2 ready", 3),
            ]


class TestTransitions:
    def transition(self, scene: Scene, message: str) -> None:
        scene.recorder.record(POD, "Normal", "Changed", message, transition=True)

    @simulated
    async def test_every_one_is_written_as_itself(self) -> None:
        async with recording() as scene:
            expected = [(f"to state {number}", 1) for number in range(3 * BURST)]
            for message, _ in expected:
                self.transition(scene, message)
            assert sorted(await scene.summary()) == sorted(expected)
            assert scene.recorder.dropped == 0

    @simulated
    async def test_a_full_queue_takes_it(self) -> None:
        scene = Scene()
        for number in range(WAITING + 3):
            scene.record(f"Reason{number}", "text")
        self.transition(scene, "to the last state")
        running = asyncio.create_task(scene.recorder.run())
        assert ("to the last state", 1) in await scene.summary()
        assert scene.recorder.dropped == 3
        running.cancel()
        await asyncio.wait({running})

    @simulated
    async def test_one_that_could_not_be_written_is_tried_again_and_holds_up_no_other(self) -> None:
        async with recording() as scene:
            scene.api.faults.fail_next(lambda request: request.method == "POST", Moment.BEFORE)
            self.transition(scene, "to state 1")
            scene.record("Waits", "for a pod")
            assert await scene.summary() == [("for a pod", 1)]
            await asyncio.sleep(5)
            assert ("to state 1", 1) in await scene.summary()
            assert scene.recorder.dropped == 0

    @simulated
    async def test_one_that_is_refused_holds_up_no_other(self) -> None:
        async with recording() as scene:
            refusing = [True]

            async def review(request: Json) -> Json:
                of_pod = request["object"]["involvedObject"]["name"] == "p"
                return {"allowed": not (refusing and of_pod), "status": {"code": 403}}

            scene.api.admit("quota", review, [Rule(("events",), ("CREATE",))])
            self.transition(scene, "to state 1")
            await scene.recorder.flush()
            scene.api.faults.fail_next(lambda request: request.method == "POST", Moment.BEFORE)
            scene.recorder.record(OTHER, "Normal", "Changed", "to state 2", transition=True)
            assert await scene.summary() == [], "both have to be tried again"
            await asyncio.sleep(30)
            assert [message for message, _ in await scene.summary()] == ["to state 2"]
            refusing.clear()
            await asyncio.sleep(70)
            assert ("to state 1", 1) in await scene.summary()


class TestFailures:
    @simulated
    async def test_an_event_that_has_run_out_is_written_anew(self) -> None:
        async with recording() as scene:
            for _ in range(2):
                scene.record("Waits", "for a pod")
            [event] = await scene.written()
            assert event["count"] == 2
            await scene.client.delete(EVENTS, event["metadata"]["name"], "default")
            for _ in range(2):
                scene.record("Waits", "for a pod")
            [again] = await scene.written()
            assert again["count"] == 2
            assert again["metadata"]["uid"] != event["metadata"]["uid"]

    @pytest.mark.parametrize("exists", [True, False], ids=["terminating", "missing"])
    @simulated
    async def test_a_namespace_that_goes_away_is_nothing_to_worry_about(
        self, exists: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, "intact.kube.events")
        async with recording() as scene:
            if exists:
                await scene.client.create(NAMESPACES, {"metadata": {"name": "ending"}})
                await scene.client.create(CONFIGMAPS, configmap("keeps-it"), "ending")
                await scene.client.delete(NAMESPACES, "ending")
            scene.record("Ends", "too", ObjectReference(kind="Pod", namespace="ending", name="p"))
            assert await scene.written() == []
            assert scene.recorder.dropped == 1
        [record] = caplog.records
        assert record.levelno == logging.DEBUG
        assert "event Ends was not written" in record.getMessage()

    @pytest.mark.parametrize("moment", Moment)
    @simulated
    async def test_another_failure_is_a_warning_and_the_next_event_is_written(
        self, moment: Moment, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with recording() as scene:
            scene.api.faults.fail_next(lambda request: request.method == "POST", moment)
            scene.record("First", "text")
            scene.record("Second", "text")
            assert "Second" in [event["reason"] for event in await scene.written()]
            assert scene.recorder.dropped == 1
        [record] = caplog.records
        assert record.levelno == logging.WARNING
        assert "event First was not written" in record.getMessage()

    @simulated
    async def test_what_does_not_fit_into_the_queue_is_dropped(self) -> None:
        scene = Scene()
        for number in range(WAITING + 3):
            scene.record(f"Reason{number}", "text")
        assert scene.recorder.dropped == 3


@pytest.mark.parametrize(
    ("length", "end"), [(1024, "x"), (1025, "..."), (5000, "...")], ids=["fits", "over", "far over"]
)
@simulated
async def test_a_long_message_is_cut(length: int, end: str) -> None:
    async with recording() as scene:
        scene.record("Long", "x" * length)
        [event] = await scene.written()
        assert len(event["message"]) == 1024
        assert event["message"].endswith(end)


@simulated
async def test_a_long_name_leaves_room_for_the_rest() -> None:
    async with recording() as scene:
        scene.record(
            "Long", "name", ObjectReference(kind="Pod", namespace="default", name="n" * 253)
        )
        [event] = await scene.written()
        assert len(event["metadata"]["name"]) <= 253
