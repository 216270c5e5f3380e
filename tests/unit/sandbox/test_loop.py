"""The deterministic event loop."""

import asyncio
import contextvars
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from intact.sandbox import Deadlock, LimitReached, SimulatedLoop, run, wall_clock


async def race(trace: list[str]) -> None:
    """Tasks that step in turn, and note their steps."""

    async def step(name: str) -> None:
        for number in range(5):
            trace.append(f"{name}{number}")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(step(name))


def trace_of(seed: int | None) -> list[str]:
    trace: list[str] = []
    run(race(trace), seed=seed)
    return trace


def test_the_same_seed_takes_the_same_steps() -> None:
    assert trace_of(7) == trace_of(7)


def test_seeds_differ() -> None:
    assert len({tuple(trace_of(seed)) for seed in range(20)}) > 15


def test_each_task_keeps_its_own_order() -> None:
    for seed in range(20):
        trace = trace_of(seed)
        assert [step for step in trace if step.startswith("a")] == ["a0", "a1", "a2", "a3", "a4"]


def test_without_a_seed_the_first_to_be_ready_goes_first() -> None:
    assert trace_of(None) == [f"{name}{number}" for number in range(5) for name in "abcd"]


PROGRAM = """
import asyncio
from intact.sandbox import run

async def main():
    trace = []
    async def work(name):
        try:
            await asyncio.sleep(hash(int(name)) % 3)
            if name == "3":
                raise ValueError(name)
            await asyncio.sleep(60)
        finally:
            trace.append(name)
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(work(str(number)))
    except* ValueError:
        pass
    print(",".join(trace))

run(main(), seed=3)
"""


def test_other_processes_take_the_same_steps() -> None:
    """A group of tasks is cancelled in the order of a set: no address may decide it."""
    root = Path(__file__).parents[3]

    def output(hash_seed: str, padding: int) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root / "src")}
        program = f"padding = [object() for _ in range({padding})]\n{PROGRAM}"
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    first = output("1", 10)
    assert sorted(first.strip().split(","), key=int) == [str(number) for number in range(12)]
    assert output("2", 10_001) == first


def test_no_address_decides_the_order_of_a_set_of_tasks() -> None:
    async def main() -> list[int]:
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(5)]
        await asyncio.gather(*tasks)
        return [hash(task) for task in tasks]

    assert run(main()) == [2, 3, 4, 5, 6]


def test_time_stands_still_until_nothing_is_ready_and_then_jumps() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        for _ in range(100):
            await asyncio.sleep(0)
        times.append(loop.time())
        await asyncio.sleep(86_400)
        return [*times, loop.time()]

    assert run(main(), seed=1) == [0.0, 0.0, 86_400.0]


def test_timers_fire_in_the_order_of_their_times() -> None:
    async def main() -> list[int]:
        fired: list[int] = []

        async def wait(seconds: int) -> None:
            await asyncio.sleep(seconds)
            fired.append(seconds)

        async with asyncio.TaskGroup() as group:
            for seconds in (3, 1, 2):
                group.create_task(wait(seconds))
        return fired

    assert run(main(), seed=5) == [1, 2, 3]


def test_a_deadlock_names_the_tasks_that_wait_and_where() -> None:
    async def waits_forever() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(waits_forever(), name="the one")
        await task

    with pytest.raises(Deadlock) as caught:
        run(main(), seed=1)
    assert "the one" in str(caught.value)
    assert "main" in str(caught.value)


def test_the_step_hook_sees_every_step_and_ends_the_run() -> None:
    steps = 0

    def check() -> None:
        nonlocal steps
        steps += 1
        if steps == 10:
            raise AssertionError("an invariant is broken")

    async def main() -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="an invariant is broken"):
        run(main(), on_step=check)
    assert steps == 10


def test_a_run_ends_at_its_limits() -> None:
    async def forever() -> None:
        while True:
            await asyncio.sleep(1)

    with pytest.raises(LimitReached, match="50 steps"):
        run(forever(), max_steps=50)
    with pytest.raises(LimitReached, match="50 simulated seconds"):
        run(forever(), max_time=50)


def test_what_is_left_at_the_end_is_cancelled_and_cleans_up() -> None:
    cleaned: list[str] = []

    async def lingers() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            cleaned.append("task")

    async def generates() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(1)
            cleaned.append("generator")

    numbers = generates()
    keep: list[asyncio.Task[None]] = []

    async def main() -> str:
        keep.append(asyncio.create_task(lingers()))
        await anext(numbers)
        await asyncio.sleep(0)
        return "done"

    assert run(main()) == "done"
    assert cleaned == ["task", "generator"]


def test_the_exception_of_main_is_raised() -> None:
    async def main() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        run(main(), seed=1)


@pytest.mark.parametrize("seed", [None, *range(10)])
def test_the_primitives_of_asyncio_work(seed: int | None) -> None:
    variable = contextvars.ContextVar("variable", default=0)

    async def produce(queue: asyncio.Queue[int]) -> None:
        variable.set(1)
        for number in range(20):
            await queue.put(number)

    async def consume(queue: asyncio.Queue[int], lock: asyncio.Lock, seen: list[int]) -> None:
        for _ in range(10):
            async with lock:
                seen.append(await queue.get())

    async def main() -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=3)
        lock, condition, event = asyncio.Lock(), asyncio.Condition(), asyncio.Event()
        seen: list[int] = []
        async with asyncio.TaskGroup() as group:
            group.create_task(produce(queue))
            for _ in range(2):
                group.create_task(consume(queue, lock, seen))
        assert variable.get() == 0

        async def wait_for_notice() -> None:
            async with condition:
                event.set()
                await condition.wait()

        waiting = asyncio.create_task(wait_for_notice())
        await event.wait()
        async with condition:
            condition.notify_all()
        await waiting
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 5)
        assert asyncio.get_running_loop().time() == 10
        return seen

    assert run(main(), seed=seed) == list(range(20))


def test_an_error_in_a_callback_reaches_the_handler() -> None:
    contexts: list[str] = []

    def broken() -> None:
        raise ValueError("in a callback")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(
            lambda _loop, context: contexts.append(str(context["exception"]))
        )
        loop.call_soon(broken)
        await asyncio.sleep(1)

    run(main())
    assert contexts == ["in a callback"]


def test_a_closed_loop_refuses() -> None:
    loop = SimulatedLoop()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)


def test_the_wall_clock_follows_the_loop() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    clock = wall_clock(start)

    async def main() -> datetime:
        await asyncio.sleep(90)
        return clock()

    assert run(main()) == start + timedelta(seconds=90)
    assert clock() == start
