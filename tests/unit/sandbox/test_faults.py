"""What a simulation can let go wrong."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, NotFound, Unreachable
from intact.kube.transport import Request
from intact.sandbox import MemoryApi, Moment, run
from tests.support.objects import CONFIGMAPS, configmap

PATH = CONFIGMAPS.path("default")


def is_post(request: Request) -> bool:
    return request.method == "POST"


async def create(api: MemoryApi, name: str) -> None:
    body = b'{"metadata":{"name":"%s"}}' % name.encode()
    await api.send(Request("POST", PATH, body=body))


@asynccontextmanager
async def watching(api: MemoryApi, **query: str) -> AsyncIterator[AsyncIterator[bytes]]:
    start = {"watch": "true", "resourceVersion": str(api.revision)}
    async with api.stream(Request("GET", PATH, start | query)) as stream:
        assert stream.status == 200
        yield stream.chunks


async def test_a_request_that_is_lost_was_not_carried_out(api: MemoryApi, client: Client) -> None:
    api.faults.fail_next(is_post, Moment.BEFORE)
    with pytest.raises(Unreachable) as caught:
        await create(api, "a")
    assert caught.value.sent
    with pytest.raises(NotFound):
        await client.get(CONFIGMAPS, "a", "default")
    await create(api, "a")


async def test_an_answer_that_is_lost_was_carried_out(api: MemoryApi, client: Client) -> None:
    api.faults.fail_next(is_post, Moment.AFTER)
    with pytest.raises(Unreachable):
        await create(api, "a")
    with pytest.raises(AlreadyExists):
        await client.create(CONFIGMAPS, configmap("a"), "default")


async def test_a_request_may_be_known_to_be_unsent(api: MemoryApi) -> None:
    api.faults.fail_next(is_post, sent=False, times=2)
    for _ in range(2):
        with pytest.raises(Unreachable) as caught:
            await create(api, "a")
        assert not caught.value.sent
    await create(api, "a")


def test_what_was_carried_out_was_sent(api: MemoryApi) -> None:
    with pytest.raises(ValueError, match="has been sent"):
        api.faults.fail_next(moment=Moment.AFTER, sent=False)


def test_chance_is_seeded() -> None:
    async def lost(seed: int) -> list[int]:
        api = MemoryApi(seed=seed)
        api.faults.fail_randomly(0.3, Moment.BEFORE, is_post)
        found = []
        for number in range(50):
            try:
                await create(api, f"c{number}")
            except Unreachable:
                found.append(number)
        return found

    first = run(lost(1), seed=0)
    assert 5 < len(first) < 25
    assert run(lost(1), seed=0) == first
    assert run(lost(2), seed=0) != first


async def test_healed_faults_no_longer_strike(api: MemoryApi) -> None:
    api.faults.fail_randomly(1.0, Moment.BEFORE)
    api.faults.fail_next()
    api.faults.heal()
    await create(api, "a")


def test_a_watch_lags_and_keeps_its_order() -> None:
    async def main() -> tuple[list[bytes], float]:
        api = MemoryApi(seed=3)
        api.faults.delay_watches(1, 5)
        async with watching(api) as chunks:
            for name in "abc":
                await create(api, name)
            lines = [await anext(chunks) for _ in range(3)]
            return lines, asyncio.get_running_loop().time()

    lines, elapsed = run(main(), seed=3)
    assert [line.split(b'"name":"')[1][:1] for line in lines] == [b"a", b"b", b"c"]
    assert 1 <= elapsed <= 5


def test_a_watch_that_is_held_delivers_when_released() -> None:
    async def main() -> None:
        api = MemoryApi()
        async with watching(api) as chunks:
            api.faults.hold_watches()
            await create(api, "a")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(30):
                    await anext(chunks)
            async with watching(api, resourceVersion="1") as later:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(30):
                        await anext(later)
                api.faults.release_watches()
                assert b"ADDED" in await anext(later)
            assert b"ADDED" in await anext(chunks)

    run(main(), seed=1)


async def test_a_watch_breaks(api: MemoryApi) -> None:
    async with watching(api) as chunks:
        assert api.faults.break_watches(is_post) == 0
        assert api.faults.break_watches() == 1
        with pytest.raises(Unreachable):
            await anext(chunks)
    assert api.faults.break_watches() == 0


async def test_a_watch_breaks_in_the_middle_of_an_event(api: MemoryApi) -> None:
    async with watching(api) as chunks:
        await create(api, "a")
        api.faults.break_watches(midway=True)
        partial = await anext(chunks)
        assert partial.startswith(b'{"type":"ADDED"'[: len(partial)])
        assert not partial.endswith(b"\n")
        with pytest.raises(Unreachable):
            await anext(chunks)


@pytest.mark.parametrize("as_http", [False, True], ids=["event", "HTTP"])
async def test_an_expired_version_cannot_be_watched_from(api: MemoryApi, as_http: bool) -> None:
    start = str(api.revision)
    await create(api, "a")
    api.faults.expire()
    api.faults.expired_as_http = as_http
    query = {"watch": "true", "resourceVersion": start}
    async with api.stream(Request("GET", PATH, query)) as stream:
        body = b"".join([chunk async for chunk in stream.chunks])
    assert stream.status == (410 if as_http else 200)
    assert (b'"type":"ERROR"' in body) is not as_http
    assert b'"reason":"Expired"' in body
    assert b"too old resource version" in body


async def test_a_watch_from_now_is_not_expired(api: MemoryApi) -> None:
    api.faults.expire()
    async with watching(api) as chunks:
        await create(api, "a")
        assert b"ADDED" in await anext(chunks)


def test_the_faults_of_a_run_replay() -> None:
    async def main(seed: int) -> list[str]:
        api = MemoryApi(seed=seed)
        api.faults.fail_randomly(0.1, Moment.AFTER)
        api.faults.delay_watches(0, 3)
        client = Client(api, rng=random.Random(seed))
        seen: list[str] = []

        async def observe() -> None:
            while True:
                try:
                    async with client.watch(CONFIGMAPS, "default") as events:
                        while True:
                            event = await anext(events)
                            seen.append(f"{event.type} {event.resource_version}")
                except Unreachable as error:
                    seen.append(str(error))

        async def write(name: str) -> None:
            for number in range(10):
                try:
                    await create(api, f"{name}{number}")
                except Unreachable as error:
                    seen.append(str(error))
                await asyncio.sleep(1)

        observer = asyncio.create_task(observe())
        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(write(name))
            group.create_task(_break_sometimes(api, random.Random(seed)))
        observer.cancel()
        return seen

    first = run(main(1), seed=1)
    assert any("connection lost" in line for line in first)
    assert any(line.startswith("ADDED") for line in first)
    assert run(main(1), seed=1) == first
    assert run(main(2), seed=2) != first


async def _break_sometimes(api: MemoryApi, rng: random.Random) -> None:
    for _ in range(5):
        await asyncio.sleep(rng.uniform(0, 3))
        api.faults.break_watches(midway=rng.random() < 0.5)
