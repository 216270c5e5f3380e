"""The reflector over the API in memory: whatever goes wrong, the store ends equal to a list."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from typing import Any, Literal

import msgspec
import pytest

from intact.kube.client import WATCH_SILENCE, Client
from intact.kube.reflector import Reflector
from intact.kube.resources import NAMESPACES, PODS, Resource, untyped
from intact.kube.retry import Backoff
from intact.kube.store import Key, Store, key_of
from intact.kube.transport import Request, Response, Stream
from intact.model.base import View
from intact.model.meta import ObjectMeta
from intact.model.pod import Pod
from intact.sandbox import MemoryApi, Moment
from tests.support.objects import CONFIGMAPS, configmap, pod
from tests.unit.kube.simulated import NoJitter, now, simulated

NS = "default"


def reads(request: Request) -> bool:
    return request.method == "GET"


class _Nothing:
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


class Gateway:
    """In front of the API: may answer in its place, and notes when it was asked for lists."""

    def __init__(self, api: MemoryApi) -> None:
        self.api = api
        self.answer: Response | None = None
        self.ends_watches = False
        self.lists: list[float] = []
        self.watches: list[float] = []

    async def send(self, request: Request) -> Response:
        if reads(request):
            self.lists.append(now())
            if self.answer is not None:
                return self.answer
        return await self.api.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self.watches.append(now())
        return self._ended() if self.ends_watches else self.api.stream(request)

    @asynccontextmanager
    async def _ended(self) -> AsyncGenerator[Stream, None]:
        yield Stream(200, _Nothing())

    async def close(self) -> None:
        """Nothing to close."""


class Scene:
    def __init__(self, seed: int = 0, *, jitter: bool = True) -> None:
        self.api = MemoryApi(seed=seed)
        self.faults = self.api.faults
        self.gateway = Gateway(self.api)
        self.client = Client(self.api, rng=random.Random(seed))
        self.store: Store[Pod] = Store()
        self.added: Counter[str] = Counter()
        self.deleted: Counter[str] = Counter()
        self.store.subscribe(self._saw)
        self.reflector = Reflector(
            Client(self.gateway, rng=random.Random(seed)),
            PODS,
            self.store,
            backoff=Backoff(first=0.2, most=30.0),
            rng=random.Random(seed) if jitter else NoJitter(seed),
        )
        self.stats = self.reflector.stats
        self._running: asyncio.Task[None] | None = None

    def _saw(self, old: Pod | None, new: Pod | None) -> None:
        if old is None and new is not None:
            self.added[new.metadata.uid] += 1
        elif new is None and old is not None:
            self.deleted[old.metadata.uid] += 1

    def start(self) -> None:
        self._running = asyncio.create_task(self.reflector.run())

    async def stop(self) -> None:
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait({self._running})

    async def synced(self) -> None:
        self.start()
        await self.reflector.wait_synced()
        await asyncio.sleep(0.01)

    def problem(self) -> str | None:
        return self.reflector.error

    def names(self) -> set[str]:
        return {each.metadata.name for each in self.store}

    async def create(self, name: str) -> None:
        await self.client.create(PODS, pod(name), NS)

    async def change(self, name: str, value: str) -> None:
        await self.client.patch(PODS, {"metadata": {"labels": {"step": value}}}, name, NS)

    async def delete(self, name: str) -> None:
        await self.client.delete(PODS, name, NS, grace_period_seconds=0)

    async def check(self) -> None:
        """The store equals a list, and handlers have seen how it came to that."""
        assert self._running is not None
        assert not self._running.done()
        listed = {key_of(each): each for each in (await self.client.list(PODS)).items}
        assert {key_of(each): each for each in self.store} == listed
        held = {each.metadata.uid for each in self.store}
        assert set(self.added.values()) <= {1}
        assert set(self.deleted.values()) <= {1}
        assert self.deleted.keys() == self.added.keys() - held


@simulated
async def test_a_list_and_then_a_watch() -> None:
    scene = Scene()
    await scene.create("a")
    await scene.synced()
    assert scene.store.synced
    assert scene.names() == {"a"}
    await scene.create("b")
    await scene.delete("a")
    await asyncio.sleep(0.1)
    assert scene.names() == {"b"}
    # An addition, and a deletion that is announced by a change.
    assert (scene.stats.lists, scene.stats.events, scene.stats.restarts) == (1, 3, 0)
    await scene.check()


@simulated
async def test_only_what_was_selected_is_kept() -> None:
    scene = Scene()
    store: Store[Pod] = Store()
    await scene.client.create(PODS, pod("before", labels={"mine": "yes"}), NS)
    await scene.create("other")
    reflector = Reflector(
        scene.client, PODS, store, namespace=NS, labels="mine=yes", fields="metadata.name!=never"
    )
    running = asyncio.create_task(reflector.run())
    await reflector.wait_synced()
    for name in ("never", "after"):
        await scene.client.create(PODS, pod(name, labels={"mine": "yes"}), NS)
    await asyncio.sleep(1)
    assert {each.metadata.name for each in store} == {"before", "after"}
    assert not running.done()


@simulated
async def test_an_event_may_come_late() -> None:
    scene = Scene()
    await scene.synced()
    scene.faults.delay_watches(5, 5)
    await scene.create("a")
    await asyncio.sleep(4.9)
    assert scene.names() == set()
    await asyncio.sleep(0.2)
    assert scene.names() == {"a"}


@pytest.mark.parametrize("midway", [False, True])
@simulated
async def test_a_watch_that_breaks_is_resumed_where_it_was(midway: bool) -> None:
    scene = Scene()
    await scene.create("a")
    await scene.synced()
    scene.faults.hold_watches()
    await scene.create("b")
    await scene.delete("a")
    assert scene.faults.break_watches(midway=midway) == 1
    scene.faults.release_watches()
    await asyncio.sleep(1)
    assert scene.names() == {"b"}
    assert (scene.stats.lists, scene.stats.restarts) == (1, 1)
    await scene.check()


@pytest.mark.parametrize("as_http", [False, True])
@simulated
async def test_a_watch_that_is_too_old_leads_to_a_new_list(as_http: bool) -> None:
    scene = Scene()
    scene.faults.expired_as_http = as_http
    await scene.create("a")
    await scene.create("b")
    await scene.synced()
    scene.faults.break_watches()
    await scene.delete("a")
    await scene.change("b", "1")
    scene.faults.expire()
    await asyncio.sleep(1)
    assert scene.names() == {"b"}
    assert scene.stats.lists == 2
    assert scene.reflector.error is None
    await scene.check()


@simulated
async def test_the_server_ends_each_watch_in_time_and_that_is_no_failure() -> None:
    scene = Scene()
    await scene.synced()
    await asyncio.sleep(3600)
    assert len(scene.gateway.watches) > 5
    assert (scene.stats.lists, scene.stats.restarts) == (1, 0)
    assert scene.reflector.error is None


@simulated
async def test_a_silent_watch_of_a_healthy_server_is_taken_up_again_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.faults.hold_watches()  # nothing comes, from the beginning, as if nothing had happened
    await scene.synced()
    await scene.create("a")
    asked = len(scene.gateway.lists)
    await asyncio.sleep(10 * WATCH_SILENCE - 1)
    assert (len(scene.gateway.lists) - asked, len(scene.gateway.watches)) == (9, 10)
    scene.faults.release_watches()
    await asyncio.sleep(1)
    assert scene.names() == {"a"}
    assert (scene.stats.lists, scene.stats.restarts) == (1, 0)
    assert scene.reflector.error is None
    assert not caplog.records
    await scene.check()


@simulated
async def test_a_silent_watch_whose_server_does_not_answer_is_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    await scene.synced()
    scene.faults.hold_watches()
    await scene.create("a")
    scene.gateway.answer = Response(503, b"no server")
    await asyncio.sleep(WATCH_SILENCE - 1)
    assert (scene.problem(), scene.stats.restarts) == (None, 0)
    assert not scene.reflector.is_doubtful
    await asyncio.sleep(WATCH_SILENCE)
    assert scene.problem() == "no server"
    assert scene.stats.restarts > 3
    assert "pods: no server; retrying in " in caplog.text
    scene.gateway.answer = None
    scene.faults.release_watches()
    await asyncio.sleep(31)
    assert scene.problem() is None
    assert scene.stats.lists == 1
    await scene.check()


async def another_history(api: MemoryApi, *names: str) -> MemoryApi:
    """A server with fewer versions: as after a restore from a backup."""
    restored = MemoryApi(seed=9)
    client = Client(restored)
    for name in names:
        await client.create(PODS, pod(name), NS)
    assert restored.revision < api.revision
    return restored


@pytest.mark.parametrize("breaks", [True, False], ids=["with the server", "in silence"])
@simulated
async def test_a_server_that_was_restored_from_a_backup_is_listed_anew(
    breaks: bool, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene()
    for name in ("a", "b", "c"):
        await scene.create(name)
    await scene.synced()
    for step in range(20):
        await scene.change("a", str(step))
    await asyncio.sleep(1)
    before, asked = scene.reflector.version, len(scene.gateway.lists)
    old = {each.metadata.uid for each in scene.store}
    scene.gateway.api = await another_history(scene.api, "a", "d")
    if breaks:
        scene.faults.break_watches()
    else:  # the connection to the old server stands, and brings nothing
        scene.faults.hold_watches()
        await scene.create("never-seen")
    await asyncio.sleep(1 if breaks else 2 * WATCH_SILENCE)
    assert scene.names() == {"a", "d"}
    assert scene.stats.lists == 2
    assert len(scene.gateway.lists) - asked == 2, "the present version, and everything"
    assert int(scene.reflector.version) < int(before)
    assert f"pods: the server has gone back from version {before} to " in caplog.text
    assert scene.deleted.keys() == old
    await Client(scene.gateway.api).create(PODS, pod("e"), NS)
    await asyncio.sleep(1)
    assert scene.names() == {"a", "d", "e"}
    assert scene.stats.lists == 2


@pytest.mark.parametrize("lost", ["create", "change", "delete"])
@simulated
async def test_a_restored_server_that_has_counted_past_the_last_version_is_found_out(
    lost: str,
) -> None:
    scene = Scene()
    for name in ("a", "x"):
        await scene.create(name)
    await scene.synced()
    backup = scene.api.snapshot()
    match lost:
        case "create":
            await scene.create("lost")
        case "change":
            await scene.change("a", "lost")
        case "delete":
            await scene.delete("a")
    await asyncio.sleep(1)
    scene.api.restore(backup)
    for name in "bcdef":
        await scene.create(name)
    assert int(scene.reflector.version) < scene.api.revision
    await asyncio.sleep(1)
    listed = (await scene.client.list(PODS)).items
    assert {each.metadata.name: each for each in scene.store} == {
        each.metadata.name: each for each in listed
    }


@pytest.mark.parametrize("others", [0, 1, 3])
@simulated
async def test_a_server_that_has_lost_a_write_which_no_watch_has_brought_is_found_out(
    others: int,
) -> None:
    """The server may have counted on since then, to the version of the write or past it."""
    scene = Scene()
    await scene.create("a")
    await scene.synced()
    backup, client = scene.api.snapshot(), scene.client
    history = scene.reflector._client.history
    scene.faults.hold_watches()
    labels = {"metadata": {"labels": {"written": "here"}}}
    written: Pod = await client.patch(PODS, labels, "a", NS)
    history.learn(PODS, written)
    scene.api.restore(backup)
    for number in range(others):
        await scene.change("a", f"other-{number}")
    scene.faults.release_watches()
    scene.faults.break_watches()
    await asyncio.sleep(1)
    assert scene.stats.lists == 2
    assert list(scene.store) == (await client.list(PODS)).items


@simulated
async def test_a_write_that_no_watch_has_brought_is_no_reason_to_list_again() -> None:
    scene = Scene()
    await scene.create("a")
    await scene.synced()
    client, history = scene.client, scene.reflector._client.history
    scene.faults.hold_watches()
    labels = {"metadata": {"labels": {"written": "here"}}}
    written: Pod = await client.patch(PODS, labels, "a", NS)
    history.learn(PODS, written)
    scene.faults.release_watches()
    scene.faults.break_watches()
    await asyncio.sleep(1)
    assert scene.stats.lists == 1
    await scene.check()


@simulated
async def test_one_that_finds_that_the_server_has_gone_back_tells_all_others() -> None:
    """The server may have counted past the version of another one before that one asks."""
    scene = Scene()
    await scene.synced()
    api, client = scene.api, scene.reflector._client
    other: Reflector[Any] = Reflector(client, NAMESPACES, Store())
    running = asyncio.create_task(other.run())
    await other.wait_synced()
    backup = api.snapshot()
    await scene.create("lost")
    await asyncio.sleep(1)
    scene.faults.fail_randomly(
        1.0, Moment.BEFORE, lambda one: reads(one) and one.path == "/api/v1/namespaces"
    )
    api.restore(backup)
    await asyncio.sleep(1)
    assert scene.stats.lists == 2
    for name in "abc":
        await scene.client.create(NAMESPACES, {"metadata": {"name": name}})
        await scene.create(name)
    scene.faults.heal()
    await asyncio.sleep(5)
    assert (other.stats.lists, len(other.store)) == (2, 5)
    assert scene.stats.lists == 2
    await scene.check()
    running.cancel()


@simulated
async def test_a_list_with_an_older_object_tells_all_others() -> None:
    """As after a restore that moves the counter forward, so that every watch is too old."""
    scene = Scene()
    await scene.create("a")
    await scene.synced()
    told: list[int] = []
    scene.reflector._client.history.follow(lambda: told.append(1))
    await scene.change("a", "1")
    await asyncio.sleep(1)
    [known] = (await scene.client.list(untyped("", "v1", "pods", "Pod"))).items
    known["metadata"]["resourceVersion"] = "2"
    page = {"metadata": {"resourceVersion": "1000000"}, "items": [known]}
    scene.gateway.answer = Response(200, msgspec.json.encode(page))
    scene.reflector.list_again()
    await scene.reflector.wait_synced()
    assert told == [1]
    assert scene.deleted.keys() == scene.added.keys()


@simulated
async def test_a_store_is_doubtful_from_the_end_of_a_watch_until_the_server_answers() -> None:
    scene = Scene()
    await scene.synced()
    scene.faults.fail_randomly(1.0, Moment.BEFORE)
    scene.faults.break_watches()
    await asyncio.sleep(120)
    assert scene.reflector.is_doubtful
    assert scene.store.synced
    scene.faults.heal()
    await asyncio.sleep(5.1)
    assert not scene.reflector.is_doubtful, "tried again every few seconds"


FORBIDDEN = Response(403, b'{"kind": "Status", "code": 403, "message": "pods is forbidden"}')


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (FORBIDDEN, "pods is forbidden"),
        (Response(200, b"<html>"), "pods: not a list"),
        (Response(503, b"no server"), "no server"),
    ],
)
@simulated
async def test_a_list_that_fails_is_to_be_seen_until_it_works(
    answer: Response, message: str
) -> None:
    scene = Scene()
    scene.gateway.answer = answer
    await scene.create("a")
    scene.start()
    await asyncio.sleep(60)
    assert message in (scene.problem() or "")
    assert not scene.store.synced
    scene.gateway.answer = None
    await asyncio.sleep(60)
    assert scene.problem() is None
    assert scene.names() == {"a"}


@simulated
async def test_the_waits_grow_and_begin_anew_after_a_success() -> None:
    scene = Scene(jitter=False)
    scene.gateway.answer = FORBIDDEN
    scene.start()
    await asyncio.sleep(130)
    times = scene.gateway.lists
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30])
    scene.gateway.answer = None
    await asyncio.sleep(60)
    scene.faults.break_watches()
    broken = now()
    await asyncio.sleep(1)
    assert scene.gateway.watches[-1] == pytest.approx(broken + 0.2)


@simulated
async def test_a_failure_that_repeats_is_logged_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.gateway.answer = FORBIDDEN
    scene.start()
    await asyncio.sleep(3600)
    failures = scene.stats.restarts
    assert failures > 100
    assert len(caplog.records) == 1 + failures // 10


@simulated
async def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    scene = Scene()
    scene.gateway.ends_watches = True
    await scene.synced()
    await asyncio.sleep(60)
    assert 5 < len(scene.gateway.watches) < 20
    assert scene.reflector.error == "the server ends the watch as soon as it begins"
    scene.gateway.ends_watches = False
    await asyncio.sleep(31)
    assert scene.reflector.error is None


class Strict(View):
    metadata: ObjectMeta
    data: dict[str, Literal["good"]] = {}  # noqa: RUF012


@simulated
async def test_an_object_that_cannot_be_read_is_not_there_until_it_can_be() -> None:
    api = MemoryApi()
    client = Client(api)
    store: Store[Strict] = Store()
    resource = Resource(Strict, "", "v1", "configmaps", "ConfigMap")
    running = asyncio.create_task(Reflector(client, resource, store).run())
    seen: list[bool] = []
    for state in ("good", "bad", "good"):
        if not seen:
            await client.create(CONFIGMAPS, configmap("c", {"state": state}), NS)
        else:
            await client.patch(CONFIGMAPS, {"data": {"state": state}}, "c", NS)
        await asyncio.sleep(1)
        seen.append((NS, "c") in store)
    assert seen == [True, False, True]
    assert not running.done()


class Chaos:
    """Writes at random, and mishaps of the watch."""

    NAMES = tuple(f"pod-{number}" for number in range(12))

    def __init__(self, scene: Scene, seed: int) -> None:
        self._scene = scene
        self._faults = scene.faults
        self._rng = random.Random(seed)
        self._there: set[str] = set()
        self.mishaps = [self.cut, self.cut_midway, self.expire, self.hold, self.refuse] * 3
        self._rng.shuffle(self.mishaps)

    async def write(self, times: int) -> None:
        for _ in range(times):
            await self._write(self._rng.choice(self.NAMES))

    async def _write(self, name: str) -> None:
        if name not in self._there:
            await self._create(name)
        elif self._rng.random() < 0.5:
            await self._scene.change(name, str(self._rng.random()))
        else:
            await self._scene.delete(name)
            self._there.discard(name)
            if self._rng.random() < 0.5:  # again under the old name: another pod
                await self._create(name)

    async def _create(self, name: str) -> None:
        await self._scene.create(name)
        self._there.add(name)

    async def pause(self) -> None:
        await asyncio.sleep(self._rng.choice([0, 0.1, 1, 4]))

    async def cut(self) -> None:
        self._faults.break_watches()

    async def cut_midway(self) -> None:
        self._faults.break_watches(midway=True)

    async def expire(self) -> None:
        """The watch breaks, and what it should go on from is too old."""
        self._faults.break_watches()
        await self.write(3)
        self._faults.expire()

    async def hold(self) -> None:
        self._faults.hold_watches()

    async def refuse(self) -> None:
        self._faults.fail_next(reads, times=self._rng.randint(1, 6))
        self._faults.break_watches()


@pytest.mark.parametrize("seed", range(50))
@simulated
async def test_whatever_goes_wrong_the_store_ends_equal_to_a_list(seed: int) -> None:
    scene = Scene(seed)
    chaos = Chaos(scene, seed)
    scene.faults.delay_watches(0, 2)
    scene.faults.fail_randomly(0.1, Moment.BEFORE, reads)
    scene.faults.fail_randomly(0.1, Moment.AFTER, reads)
    scene.start()
    for mishap in chaos.mishaps:
        for _ in range(8):
            await chaos.write(1)
            await chaos.pause()
        scene.faults.release_watches()
        await mishap()
    scene.faults.heal()
    await asyncio.sleep(200)
    await scene.check()
    assert scene.reflector.error is None
    assert scene.stats.lists > 1
    assert scene.stats.restarts > 5
    assert sum(scene.deleted.values()) > 3


@simulated
async def test_a_pod_that_was_replaced_meanwhile_is_a_deletion_and_an_addition() -> None:
    scene = Scene()
    await scene.create("a")
    await scene.synced()
    first = scene.store.get(NS, "a")
    scene.faults.break_watches()
    await scene.delete("a")
    await scene.create("a")
    scene.faults.expire()
    await asyncio.sleep(1)
    second = scene.store.get(NS, "a")
    assert first is not None
    assert second is not None
    assert scene.deleted == {first.metadata.uid: 1}
    assert scene.added == {first.metadata.uid: 1, second.metadata.uid: 1}


@simulated
async def test_nothing_is_synced_before_the_last_page() -> None:
    scene = Scene()
    for number in range(1200):
        await scene.create(f"pod-{number}")
    early: list[Key] = []

    def saw(_old: Pod | None, new: Pod | None) -> None:
        if scene.store.synced and new is not None:
            early.append(key_of(new))

    scene.store.subscribe(saw)
    scene.faults.fail_next(lambda request: "continue" in request.query, times=5)
    await scene.synced()
    assert len(scene.store) == 1200
    assert early == []
    assert scene.stats.restarts == 1


class TestListingAgain:
    """For a new leader, which counts only what it has listed itself."""

    @simulated
    async def test_all_is_listed_anew_and_waited_for(self) -> None:
        scene = Scene()
        await scene.create("a")
        await scene.synced()
        scene.faults.hold_watches()
        await scene.create("b")
        scene.reflector.list_again()
        await scene.reflector.wait_synced()
        assert scene.names() == {"a", "b"}
        assert (scene.stats.lists, scene.stats.restarts) == (2, 0)
        scene.faults.release_watches()
        await scene.create("c")
        await asyncio.sleep(1)
        await scene.check()

    @simulated
    async def test_before_it_runs_there_is_nothing_to_begin_again(self) -> None:
        scene = Scene()
        scene.reflector.list_again()
        await scene.synced()
        assert scene.stats.lists == 1

    @simulated
    async def test_a_handler_may_ask_for_it(self) -> None:
        scene = Scene()
        await scene.synced()
        asked: list[str] = []

        def ask(_old: Pod | None, new: Pod | None) -> None:
            if new is not None and not asked:
                asked.append(new.metadata.name)
                scene.reflector.list_again()

        scene.store.subscribe(ask)
        await scene.create("a")
        async with asyncio.timeout(10):
            while not asked:
                await asyncio.sleep(0)
            await scene.reflector.wait_synced()
        assert scene.stats.lists == 2
        await scene.check()

    @simulated
    async def test_a_reflector_that_is_cancelled_meanwhile_ends(self) -> None:
        scene = Scene()
        await scene.synced()
        scene.reflector.list_again()
        await asyncio.wait_for(scene.stop(), 10)
