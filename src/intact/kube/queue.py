"""A queue of keys to be worked on.

A key is in the queue at most once, and is worked on by at most one worker: added while it is being
worked on, it comes back after `done`. Failed keys come back after a growing delay of their own.
"""

import asyncio
import heapq
import itertools
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from intact.kube.errors import KubeError
from intact.kube.retry import Backoff

K = TypeVar("K", bound=Hashable)
log = logging.getLogger(__name__)


class Observer(Protocol):
    """Is told what happens to keys, to measure it."""

    def added(self, key: Any) -> None: ...
    def taken(self, key: Any) -> None: ...
    def done(self, key: Any) -> None: ...


class Queue(Generic[K]):
    def __init__(
        self, name: str, *, backoff: Backoff | None = None, rng: random.Random | None = None
    ) -> None:
        self.name = name
        self.observer: Observer | None = None
        self.adds = 0
        self.retries = 0
        self._backoff = backoff or Backoff(first=0.005, most=300.0)
        self._rng = rng or random.Random()
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._working: set[K] = set()
        self._failures: dict[K, int] = {}
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._waiters: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """Keys that are ready to be worked on."""
        return len(self._ready)

    def add(self, key: K) -> None:
        if key in self._dirty:
            return
        self.adds += 1
        if self.observer is not None:
            self.observer.added(key)
        self._dirty.add(key)
        if key not in self._working:
            self._ready.append(key)
            self._wake()

    def add_after(self, key: K, delay: float) -> None:
        """Add once the delay has passed; of several delays of one key the shortest counts."""
        if delay <= 0:
            self.add(key)
            return
        due = asyncio.get_running_loop().time() + delay
        if self._due.get(key, float("inf")) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._later, (due, next(self._order), key))
        self._set_timer()

    def retry(self, key: K) -> None:
        """Its work failed: add it again, after a longer delay each time until `forget`."""
        self.retries += 1
        self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, self._backoff.delay(self._failures[key], self._rng))

    def forget(self, key: K) -> None:
        """Its work succeeded: the next failure counts as the first again."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    def failing(self, least: int) -> int:
        """Keys whose work has failed at least so many times in a row."""
        return sum(failures >= least for failures in self._failures.values())

    async def get(self) -> K:
        """The next key, which must be given back with `done`."""
        while not self._ready:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # A wake-up that reached a cancelled waiter belongs to the next one.
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                elif self._ready:
                    self._wake()
                raise
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._working.add(key)
        if self.observer is not None:
            self.observer.taken(key)
        return key

    def done(self, key: K) -> None:
        if self.observer is not None:
            self.observer.done(key)
        self._working.discard(key)
        if key in self._dirty:
            self._ready.append(key)
            self._wake()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_timer(self) -> None:
        """One timer, for what is due first."""
        if self._timer is not None:
            if self._timer.when() <= self._later[0][0]:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self._later[0][0], self._release)

    def _release(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            # An entry that a shorter delay has overtaken is no longer the key's due time.
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        if self._later:
            self._set_timer()


async def work(queue: Queue[K], reconcile: Callable[[K], Awaitable[None]]) -> None:
    """Work on keys until cancelled. A key whose work fails is logged and retried with backoff."""
    while True:
        key = await queue.get()
        try:
            await reconcile(key)
        except Exception as error:
            bug = not isinstance(error, KubeError)
            log.warning("%s %s: %s; retrying with backoff", queue.name, key, error, exc_info=bug)
            queue.retry(key)
        else:
            queue.forget(key)
        finally:
            queue.done(key)
