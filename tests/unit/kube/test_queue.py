"""The queue of keys, under simulated time."""

import asyncio
import logging
import random
from collections import Counter

import pytest

from intact.kube.errors import Unreachable
from intact.kube.queue import Queue, work
from intact.kube.retry import Backoff
from tests.unit.kube.simulated import NoJitter, now, simulated


@pytest.fixture
def keys() -> Queue[str]:
    return Queue("test", backoff=Backoff(first=1.0, most=60.0), rng=NoJitter())


async def taken(keys: Queue[str]) -> tuple[str, float]:
    """The next key, given back at once, and when it came."""
    key = await keys.get()
    keys.done(key)
    return key, now()


@simulated
async def test_keys_come_in_the_order_in_which_they_were_added(keys: Queue[str]) -> None:
    for key in "abc":
        keys.add(key)
    assert len(keys) == 3
    assert [(await taken(keys))[0] for _ in "abc"] == ["a", "b", "c"]
    assert len(keys) == 0


@simulated
async def test_a_key_is_in_the_queue_once(keys: Queue[str]) -> None:
    for key in ("a", "b", "a"):
        keys.add(key)
    assert (len(keys), keys.adds) == (2, 2)


@simulated
async def test_a_key_that_is_added_while_it_is_worked_on_comes_back_after_it(
    keys: Queue[str],
) -> None:
    keys.add("a")
    assert await keys.get() == "a"
    keys.add("a")
    keys.add("a")
    assert len(keys) == 0
    keys.done("a")
    assert len(keys) == 1
    assert await keys.get() == "a"
    keys.done("a")
    assert len(keys) == 0


@simulated
async def test_a_getter_waits_for_a_key(keys: Queue[str]) -> None:
    getting = asyncio.create_task(taken(keys))
    await asyncio.sleep(5)
    keys.add("a")
    assert await getting == ("a", 5.0)


class TestDelays:
    @simulated
    async def test_a_key_comes_once_its_time_has_come(self, keys: Queue[str]) -> None:
        keys.add_after("late", 20)
        keys.add_after("early", 10)
        assert len(keys) == 0
        assert [await taken(keys) for _ in range(2)] == [("early", 10.0), ("late", 20.0)]

    @pytest.mark.parametrize("delay", [0.0, -1.0])
    @simulated
    async def test_no_delay(self, keys: Queue[str], delay: float) -> None:
        keys.add_after("a", delay)
        assert len(keys) == 1

    @pytest.mark.parametrize("delays", [(30, 10, 20), (10, 20, 30), (20, 30, 10)])
    @simulated
    async def test_the_shortest_of_several_counts_and_the_key_comes_once(
        self, keys: Queue[str], delays: tuple[int, ...]
    ) -> None:
        for delay in delays:
            keys.add_after("a", delay)
        assert await taken(keys) == ("a", 10.0)
        await asyncio.sleep(60)
        assert len(keys) == 0

    @simulated
    async def test_a_delay_that_has_passed_is_forgotten(self, keys: Queue[str]) -> None:
        keys.add_after("a", 10)
        assert await taken(keys) == ("a", 10.0)
        keys.add_after("a", 30)
        assert await taken(keys) == ("a", 40.0)


class TestRetries:
    @simulated
    async def test_each_failure_of_a_key_delays_it_more(self, keys: Queue[str]) -> None:
        times = []
        for _ in range(8):
            keys.retry("a")
            times.append((await taken(keys))[1])
        assert times == [1, 3, 7, 15, 31, 63, 123, 183]
        assert (keys.failures("a"), keys.retries) == (8, 8)

    @simulated
    async def test_a_success_is_a_new_beginning(self, keys: Queue[str]) -> None:
        for _ in range(3):
            keys.retry("a")
            await taken(keys)
        begun = now()
        keys.forget("a")
        assert keys.failures("a") == 0
        keys.retry("a")
        assert await taken(keys) == ("a", begun + 1)

    @simulated
    async def test_the_failures_of_one_key_do_not_delay_another(self, keys: Queue[str]) -> None:
        for _ in range(5):
            keys.retry("a")
            await taken(keys)
        begun = now()
        keys.retry("b")
        assert await taken(keys) == ("b", begun + 1)


class TestWaiting:
    """A key is never lost to a getter that does not come for it."""

    @simulated
    async def test_a_getter_that_was_woken_and_cancelled_wakes_the_next(
        self, keys: Queue[str]
    ) -> None:
        first, second = (asyncio.create_task(taken(keys)) for _ in range(2))
        await asyncio.sleep(1)
        keys.add("a")
        first.cancel()
        assert await second == ("a", 1.0)
        assert first.cancelled()

    @simulated
    async def test_a_getter_that_gave_up_is_not_woken(self, keys: Queue[str]) -> None:
        first, second = (asyncio.create_task(taken(keys)) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.sleep(1)
        keys.add("a")
        assert await second == ("a", 2.0)

    @pytest.mark.parametrize("seed", range(50))
    @simulated
    async def test_whoever_is_cancelled_each_key_is_taken_once(
        self, keys: Queue[str], seed: int
    ) -> None:
        rng = random.Random(seed)
        getters = [asyncio.create_task(taken(keys)) for _ in range(20)]
        for number in range(10):
            keys.add(str(number))
            rng.choice(getters).cancel()
            await asyncio.sleep(rng.choice([0, 0, 1]))
        await asyncio.sleep(1)
        came = [
            getter.result()[0] for getter in getters if getter.done() and not getter.cancelled()
        ]
        assert sorted(came) == [str(number) for number in range(10)]


class TestWork:
    @pytest.mark.parametrize("seed", range(20))
    @simulated
    async def test_workers_never_share_a_key_and_none_is_forgotten(
        self, keys: Queue[str], seed: int
    ) -> None:
        rng = random.Random(seed)
        at_work: set[str] = set()
        shared: list[str] = []
        wanted: Counter[str] = Counter()
        reached: Counter[str] = Counter()

        async def reconcile(key: str) -> None:
            if key in at_work:
                shared.append(key)
            at_work.add(key)
            level = wanted[key]
            await asyncio.sleep(rng.random())
            at_work.discard(key)
            if rng.random() < 0.2:
                raise Unreachable("now and then")
            reached[key] = level

        workers = [asyncio.create_task(work(keys, reconcile)) for _ in range(4)]
        for _ in range(300):
            key = rng.choice("abcdef")
            wanted[key] += 1
            keys.add(key)
            await asyncio.sleep(rng.random() / 10)
        await asyncio.sleep(300)
        assert not any(worker.done() for worker in workers)
        assert reached == wanted
        assert shared == []

    @pytest.mark.parametrize(
        ("error", "traceback"), [(Unreachable("away"), False), (KeyError("bug"), True)]
    )
    @simulated
    async def test_a_key_whose_work_fails_comes_back(
        self,
        keys: Queue[str],
        error: Exception,
        traceback: bool,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        times: list[float] = []

        async def reconcile(_key: str) -> None:
            times.append(now())
            if len(times) < 4:
                raise error

        keys.add("a")
        working = asyncio.create_task(work(keys, reconcile))
        await asyncio.sleep(100)
        assert times == [0, 1, 3, 7]
        assert keys.failures("a") == 0
        assert not working.done()
        assert [each.levelno for each in caplog.records] == [logging.WARNING] * 3
        assert [bool(each.exc_info) for each in caplog.records] == [traceback] * 3
        assert "test a: " in caplog.text

    @simulated
    async def test_work_that_is_cancelled_gives_its_key_back(self, keys: Queue[str]) -> None:
        keys.add("a")
        working = asyncio.create_task(work(keys, lambda _key: asyncio.sleep(60)))
        await asyncio.sleep(1)
        working.cancel()
        await asyncio.wait({working})
        assert working.cancelled()
        keys.add("a")
        assert (await taken(keys))[0] == "a"
