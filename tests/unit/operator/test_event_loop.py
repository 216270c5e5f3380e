"""The loop that lets work gather."""

import asyncio
import os

from intact.operator.event_loop import PACE, PacedSelector, paced_loop


class Times:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def selecting(times: Times) -> PacedSelector:
    """With something to read at all times."""
    selector = PacedSelector(lambda: times.now, times.sleep)
    read, write = os.pipe()
    os.write(write, b"x")
    os.close(write)
    selector.register(read, 1)
    return selector


def end(selector: PacedSelector) -> None:
    for key in list(selector.get_map().values()):
        os.close(key.fd)
    selector.close()


def test_a_loop_that_was_not_woken_lately_wakes_at_once() -> None:
    times = Times()
    selector = selecting(times)
    assert selector.select(None)
    assert times.slept == []
    times.now += PACE
    assert selector.select(None)
    assert times.slept == []
    end(selector)


def test_a_loop_that_was_woken_lately_waits() -> None:
    times = Times()
    selector = selecting(times)
    selector.select(None)
    times.now += PACE / 5
    assert selector.select(None)
    assert times.slept == [round(PACE * 4 / 5, 6)]
    end(selector)


def test_a_timer_is_not_missed() -> None:
    times = Times()
    selector = selecting(times)
    selector.select(None)
    selector.select(PACE / 5)
    assert times.slept == [round(PACE / 5, 6)]
    end(selector)


def test_work_is_done_at_once() -> None:
    times = Times()
    selector = selecting(times)
    selector.select(None)
    selector.select(0)
    assert times.slept == []
    end(selector)


def test_asyncio_runs_on_a_paced_loop() -> None:
    async def main() -> int:
        await asyncio.sleep(0.001)
        return await asyncio.to_thread(lambda: 7)

    with asyncio.Runner(loop_factory=paced_loop) as runner:
        assert runner.run(main()) == 7
