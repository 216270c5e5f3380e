"""A deterministic event loop: one seed, one course of events.

1. Time is simulated. It stands still while anything is ready to run, and jumps to the next timer
   when nothing is.
2. Of the callbacks that are ready, chance picks the next one: `random.Random(seed)`. Without a seed
   they run in the order in which they became ready.
3. Nothing outside the program is looked at: no clock, no threads, no sockets, no addresses of
   objects. The same seed and program take the same steps, in every process.
"""

import asyncio
import contextvars
import heapq
import logging
import random
import sys
import weakref
from asyncio import Handle, TimerHandle
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar, TypeVarTuple

from intact.sandbox.sealed import SealedLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START = datetime(2026, 1, 1, tzinfo=UTC)
_CLEANUP_STEPS = 1_000_000
_log = logging.getLogger(__name__)


class Deadlock(RuntimeError):
    """Nothing is ready, nothing is timed, and the main coroutine is not done."""


class LimitReached(RuntimeError):
    """The run took more steps, or more simulated time, than it was given."""


class SimulatedTask(asyncio.Task[T]):
    """A task whose hash is its number.

    asyncio keeps tasks in sets, and cancels or awaits them in the order of iteration. By default
    that order depends on the addresses of the tasks.
    """

    def __init__(self, number: int, coro: Any, **options: Any) -> None:
        self.number = number  # asyncio takes the hash already while it makes a task
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedLoop(SealedLoop):
    def __init__(
        self,
        seed: int | None = None,
        *,
        on_step: Callable[[], None] | None = None,
        max_steps: int | None = None,
        max_time: float | None = None,
    ) -> None:
        self._rng = random.Random(seed) if seed is not None else None
        self._on_step = on_step
        self._max_steps = max_steps
        self._max_time = max_time
        self._now = 0.0
        self._steps = 0
        self._ready: deque[Handle] = deque()
        self._timers: list[tuple[float, int, TimerHandle]] = []
        self._timer_numbers = count()
        self._task_numbers = count(1)
        self._tasks: weakref.WeakValueDictionary[int, SimulatedTask[Any]] = (
            weakref.WeakValueDictionary()
        )
        self._generators: weakref.WeakValueDictionary[int, AsyncGenerator[Any, Any]] = (
            weakref.WeakValueDictionary()
        )
        self._generator_numbers = count()
        self._running = False
        self._stopping = False
        self._closed = False
        self._exception_handler: Callable[[Any, dict[str, Any]], object] | None = None

    @property
    def steps(self) -> int:
        """How many callbacks have run."""
        return self._steps

    def time(self) -> float:
        return self._now

    def run_forever(self) -> None:
        self._run(None)

    def run_until_complete(  # type: ignore[override]
        self, future: Coroutine[Any, Any, T] | asyncio.Future[T]
    ) -> T:
        main: asyncio.Future[T]
        main = future if asyncio.isfuture(future) else self.create_task(future, name="main")
        self._run(main)
        return main.result()

    def _run(self, main: asyncio.Future[Any] | None) -> None:
        if self._closed or self._running:
            raise RuntimeError("the loop is closed" if self._closed else "the loop is running")
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._generator_begun, finalizer=self._generator_dropped)
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        self._running, self._stopping = True, False
        try:
            while not self._stopping and not (main is not None and main.done()):
                self._step(main)
        finally:
            self._running = False
            asyncio._set_running_loop(outer)
            sys.set_asyncgen_hooks(*hooks)

    def _step(self, main: asyncio.Future[Any] | None) -> None:
        if not self._ready and not self._jump():
            if main is None:
                self._stopping = True
                return
            raise Deadlock(self._describe_deadlock())
        if self._max_steps is not None and self._steps >= self._max_steps:
            raise LimitReached(f"{self._max_steps} steps were not enough")
        handle = self._take()
        if handle.cancelled():
            return
        self._steps += 1
        handle._run()
        if self._on_step is not None:
            self._on_step()

    def _take(self) -> Handle:
        """The next callback: by chance, or the one that has waited longest."""
        if self._rng is not None:
            self._ready.rotate(-int(self._rng.random() * len(self._ready)))
        return self._ready.popleft()

    def _jump(self) -> bool:
        """To the next moment for which something is timed, if there is one."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            return False
        if self._max_time is not None and timers[0][0] > self._max_time:
            raise LimitReached(f"{self._max_time} simulated seconds were not enough")
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            handle = heapq.heappop(timers)[2]
            if not handle.cancelled():
                self._ready.append(handle)
        return bool(self._ready)

    def _describe_deadlock(self) -> str:
        waiting = [f"  {task.get_name()}: {_position(task)}" for task in self._pending()]
        return "every task waits for something that will not happen:\n" + "\n".join(waiting)

    def _pending(self) -> list[SimulatedTask[Any]]:
        """Tasks that are not done, in the order in which they were created."""
        tasks = dict(self._tasks.items())
        return [tasks[number] for number in sorted(tasks) if not tasks[number].done()]

    def stop(self) -> None:
        self._stopping = True

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Cancels what is left, lets it clean up, and closes. Nothing is checked any more."""
        if self._closed:
            return
        self._on_step = None
        self._max_steps, self._max_time = self._steps + _CLEANUP_STEPS, None
        try:
            left = self._pending()
            for task in left:
                task.cancel()
            if left:
                self.run_until_complete(asyncio.wait(left))
            self.run_until_complete(self.shutdown_asyncgens())
        finally:
            self._ready.clear()
            self._timers.clear()
            self._closed = True

    async def shutdown_asyncgens(self) -> None:
        generators = dict(self._generators.items())
        for number in sorted(generators):
            await generators[number].aclose()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is no executor."""

    def _generator_begun(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators[next(self._generator_numbers)] = generator

    def _generator_dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._closed:
            self.call_soon(self.create_task, generator.aclose())

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Handle:
        if self._closed:
            raise RuntimeError("the loop is closed")
        handle = Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> TimerHandle:
        if self._closed:
            raise RuntimeError("the loop is closed")
        handle = TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._timer_numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        number = next(self._task_numbers)
        label = str(name) if name is not None else f"task-{number}"
        task: SimulatedTask[T] = SimulatedTask(number, coro, loop=self, name=label, context=context)
        self._tasks[number] = task
        return task

    def get_task_factory(self) -> None:
        return None

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """There is no debug mode: a run can be replayed instead."""

    def get_exception_handler(self) -> Callable[[Any, dict[str, Any]], object] | None:
        return self._exception_handler

    def set_exception_handler(
        self, handler: Callable[[Any, dict[str, Any]], object] | None
    ) -> None:
        self._exception_handler = handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        _log.error("%s", context.get("message"), exc_info=context.get("exception"))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._exception_handler is not None:
            self._exception_handler(self, context)
        else:
            self.default_exception_handler(context)


def _position(task: asyncio.Task[Any]) -> str:
    """The innermost line that a task waits at."""
    coroutine: Any = task.get_coro()
    frame = None
    while coroutine is not None:
        frame = (
            getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None) or frame
        )
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)
    if frame is None:
        return repr(task.get_coro())
    return f"{frame.f_code.co_qualname}, line {frame.f_lineno}"


def run(
    main: Coroutine[Any, Any, T],
    *,
    seed: int | None = None,
    on_step: Callable[[], None] | None = None,
    max_steps: int | None = None,
    max_time: float | None = None,
) -> T:
    """Runs a coroutine to its end on a loop of its own.

    `on_step` is called after every step; what it raises ends the run at once. Tasks that still run
    at the end are cancelled.
    """
    loop = SimulatedLoop(seed, on_step=on_step, max_steps=max_steps, max_time=max_time)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def wall_clock(start: datetime = START) -> Callable[[], datetime]:
    """The wall time of the running loop: `start` when its own time is zero.

    Outside of a loop it stands still at `start`.
    """

    def now() -> datetime:
        loop: asyncio.AbstractEventLoop | None = asyncio._get_running_loop()
        elapsed = loop.time() if loop is not None else 0.0
        return start + timedelta(seconds=elapsed)

    return now
