"""Denials over the API in memory: which lines and events there are, and what they count."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from intact.cli.logs import JsonFormatter, TextFormatter
from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.model.event import ObjectReference
from intact.operator.webhook import denials
from intact.operator.webhook.denials import Denial, Denials
from intact.sandbox import MemoryApi, wall_clock
from tests.unit.kube.simulated import simulated

Json = dict[str, Any]
BUDGET = ObjectReference(kind="PodUnavailableBudget", namespace="default", name="b", uid="ub")
POD = ObjectReference(kind="Pod", namespace="default", name="p", uid="up")
DENIAL = Denial(BUDGET, POD, "BudgetExhausted", "1 of 2 pods", "EVICT", "alice")
LINE = "budget default/b denied EVICT of pod p, requested by alice: 1 of 2 pods"


class Scene:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, denials.__name__)
        self._caplog = caplog
        self._api = MemoryApi()
        self.recorder = EventRecorder(Client(self._api), "intact", "i", now=wall_clock())
        self.denials = Denials(self.recorder)

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self._caplog.records]

    @property
    def records(self) -> list[logging.LogRecord]:
        return self._caplog.records

    async def events(self, kind: str) -> list[tuple[str, int]]:
        """Message and count of each event on this kind of object."""
        await self.recorder.flush()
        return [
            (event["message"], event["count"])
            for event in self._api.objects("events")
            if event["involvedObject"]["kind"] == kind
        ]

    async def counts(self) -> dict[str, int]:
        """Of the events on each kind of object."""
        await self.recorder.flush()
        events = self._api.objects("events")
        counts: dict[str, int] = {}
        for event in events:
            kind = event["involvedObject"]["kind"]
            counts[kind] = counts.get(kind, 0) + event["count"]
        return counts


@asynccontextmanager
async def running(caplog: pytest.LogCaptureFixture) -> AsyncGenerator[Scene, None]:
    scene = Scene(caplog)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in (scene.recorder, scene.denials)]
        yield scene
        for task in tasks:
            task.cancel()


def altered(**changes: Any) -> Denial:
    return replace(DENIAL, **changes)


def again(times: int) -> str:
    return f" (and {times} more times in the last minute)"


@simulated
async def test_the_first_denial_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async with running(caplog) as scene:
        scene.denials.tell(DENIAL)
        assert scene.lines == [LINE]
        assert await scene.counts() == {"Pod": 1, "PodUnavailableBudget": 1}


@simulated
async def test_a_line_for_machines_has_what_happened_in_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        for user in ("alice", "carol", "bob"):
            scene.denials.tell(altered(user=user, group="red"))
        await asyncio.sleep(denials.EVERY + 0.001)
        lines = [json.loads(JsonFormatter().format(record)) for record in scene.records]
        same = {
            "namespace": "default",
            "budget": "b",
            "kind": "PodUnavailableBudget",
            "pod": "p",
            "group": "red",
            "operation": "EVICT",
            "reason": "BudgetExhausted",
            "mode": "Enforce",
            "dry_run": False,
        }
        assert [{name: line[name] for name in same} for line in lines] == [same, same]
        assert [(line["users"], line["times"]) for line in lines] == [
            (["alice"], 1),
            (["bob", "carol"], 2),
        ]
        assert [line["msg"] for line in lines] == scene.lines
        assert TextFormatter().format(scene.records[0]).endswith(f"{denials.__name__}: {LINE}")


@simulated
async def test_an_event_names_who_asked_and_is_one_event_whoever_asks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        scene.denials.tell(DENIAL)
        said = "EVICT, requested by {}: 1 of 2 pods"
        assert await scene.events("Pod") == [(said.format("alice"), 1)]
        for minute, user in enumerate(("bob", "carol", "dave", "erin", "frank")):
            await asyncio.sleep(minute and denials.EVERY)
            scene.denials.tell(altered(user=user))
        await asyncio.sleep(denials.EVERY + 1)
        everyone = said.format("alice, bob, carol, dave, erin and 1 more")
        for kind in ("Pod", "PodUnavailableBudget"):
            assert await scene.events(kind) == [(everyone, 6)]


@simulated
async def test_a_user_with_a_long_name_leaves_room_for_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        for number in range(7):
            scene.denials.tell(altered(user=f"{number}{'x' * 2000}"))
        await asyncio.sleep(denials.EVERY + 1)
        [(message, _)] = await scene.events("Pod")
        assert "xxx..., 1xxx" in message
        assert message.endswith("1 of 2 pods")


@simulated
async def test_a_denial_that_repeats_is_one_line_and_one_event_a_minute_with_a_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        for _ in range(1200):
            scene.denials.tell(DENIAL)
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        assert scene.lines[0] == LINE
        assert len(scene.lines) == 3
        assert await scene.counts() == {"Pod": 1200, "PodUnavailableBudget": 1200}
        assert all("more times in the last minute" in line for line in scene.lines[1:])


@simulated
async def test_the_last_repeats_are_told_when_their_minute_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        for _ in range(120):
            scene.denials.tell(DENIAL)
        assert scene.lines == [LINE]
        await asyncio.sleep(denials.EVERY + 0.001)
        assert scene.lines == [LINE, LINE + again(119)]
        assert await scene.counts() == {"Pod": 120, "PodUnavailableBudget": 120}
        await asyncio.sleep(10 * denials.EVERY)
        assert len(scene.lines) == 2, "nothing is told twice"


@simulated
async def test_after_a_quiet_minute_a_denial_is_told_at_once_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        scene.denials.tell(DENIAL)
        await asyncio.sleep(denials.EVERY + 0.001)
        scene.denials.tell(DENIAL)
        assert scene.lines == [LINE, LINE]


@simulated
async def test_the_line_about_repeats_has_the_latest_message_and_all_users(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        for user, message in (("alice", "1 of 2"), ("carol", "0 of 2"), ("bob", "2 of 3")):
            scene.denials.tell(altered(user=user, message=message))
        await asyncio.sleep(denials.EVERY + 0.001)
        assert scene.lines[1:] == [
            "budget default/b denied EVICT of pod p, requested by bob, carol: 2 of 3" + again(2)
        ]


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": msgspec.structs.replace(BUDGET, name="c")},
        {"pod": msgspec.structs.replace(POD, name="q")},
        {"pod": msgspec.structs.replace(POD, uid="other")},
        {"reason": "NotProcessed"},
        {"mode": "Warn"},
        {"dry_run": True},
    ],
    ids=["budget", "pod", "UID", "reason", "mode", "dry run"],
)
@simulated
async def test_what_differs_is_told_at_once(
    changes: Json, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(caplog) as scene:
        scene.denials.tell(DENIAL)
        scene.denials.tell(altered(**changes))
        assert len(scene.lines) == 2


@simulated
async def test_a_budget_that_does_not_enforce_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async with running(caplog) as scene:
        scene.denials.tell(altered(mode="Audit"))
        assert "budget default/b would deny (Audit) EVICT of pod p" in scene.lines[0]


@simulated
async def test_a_denied_dry_run_is_in_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    async with running(caplog) as scene:
        for _ in range(5):
            scene.denials.tell(altered(dry_run=True))
        await asyncio.sleep(denials.EVERY + 0.001)
        assert len(scene.lines) == 2
        assert "requested by alice (dry run): " in scene.lines[0]
        assert await scene.counts() == {}


@simulated
async def test_what_was_told_longest_ago_is_forgotten_first_and_its_repeats_are_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(denials, "MOST", 3)
    async with running(caplog) as scene:
        for _ in range(5):
            scene.denials.tell(DENIAL)
        for number in range(3):
            scene.denials.tell(altered(pod=msgspec.structs.replace(POD, name=f"p-{number}")))
        assert LINE + again(4) in scene.lines
        assert len(scene.lines) == 5
        scene.denials.tell(DENIAL)
        assert scene.lines[-1] == LINE


@simulated
async def test_the_repeats_are_told_when_the_process_ends(caplog: pytest.LogCaptureFixture) -> None:
    async with running(caplog) as scene:
        for _ in range(5):
            scene.denials.tell(DENIAL)
        await asyncio.sleep(1)
    assert scene.lines == [LINE, LINE + again(4)]


@simulated
async def test_of_forged_names_and_messages_only_a_part_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(caplog) as scene:
        for number in range(30):
            user = f"{number}{'x' * 1_000_000}"
            scene.denials.tell(replace(DENIAL, user=user, message="y" * 1_000_000))
        kept = [*scene.denials._told.values()]
        assert sum(len(user) for each in kept for user in each.everyone) <= 100_000
        assert all(each.last is not None and len(each.last.message) <= 10_000 for each in kept)
