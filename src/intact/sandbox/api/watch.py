"""Watches: the changes of one kind as a stream of lines, from a resourceVersion on."""

import asyncio
from collections import deque
from collections.abc import Callable

from intact.kube.errors import Silent, Unreachable
from intact.sandbox.api.failures import Failure, expired
from intact.sandbox.api.objects import Json, encode
from intact.sandbox.api.reads import body_of, check_version_match, revision_of
from intact.sandbox.api.routing import Call
from intact.sandbox.api.selectors import selection
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Change, event_line

BOOKMARK_INTERVAL = 60.0


class Watch:
    """One watch, from its request to its end. Iterating over it gives the chunks of its body."""

    def __init__(self, state: State, call: Call, delay: Callable[[Call], float]) -> None:
        self.call = call
        where, query = call.route, call.query
        self._state = state
        self._delay = delay
        check_version_match(query)
        self._selection = selection(where.kind, query)
        self._prefix = f"{where.namespace}/" if where.namespace else ""
        self._idle_limit = call.request.timeout
        self._bookmarks = query.get("allowWatchBookmarks") in ("true", "1")
        self._lines: deque[tuple[float, bytes]] = deque()
        self._stirred = asyncio.Event()
        self._held = False
        self._broken: float | None = None
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + self._timeout()
        self._next_bookmark = self._loop.time() + BOOKMARK_INTERVAL
        self._after = revision_of(query)
        self._unsubscribe = self._start()

    def _timeout(self) -> float:
        asked = float(self.call.number("timeoutSeconds") or 0)
        return asked or 1800.0 * (1 + self._state.rng.random())

    def _start(self) -> Callable[[], None]:
        """Queues the changes so far, and subscribes to the rest. No await in between."""
        store, where = self._state.store, self.call.route
        if self._after:
            oldest = store.oldest(where.kind)
            if self._after < oldest:
                raise expired(f"too old resource version: {self._after} ({oldest})")
            for change in store.changes_since(where.kind, self._after):
                self.offer(change)
        else:
            for stored in store.listed(where.kind, where.namespace):
                if self._selection.holds(stored.obj):
                    self._queue(event_line("ADDED", body_of(where, stored)))
        return store.subscribe(where.kind, self)

    def offer(self, change: Change) -> None:
        # A watch may start at a version that does not exist yet: it waits for it.
        line = self._line(change) if change.revision > self._after else None
        if line is not None:
            self._queue(line)

    def _line(self, change: Change) -> bytes | None:
        old = change.old is not None and self._concerns(change.old.key, change.old.obj)
        new = change.new is not None and self._concerns(change.new.key, change.new.obj)
        if not old and not new:
            return None
        event = "DELETED" if not new else "MODIFIED" if old else "ADDED"
        return change.line(event, self.call.route.api_version)

    def _concerns(self, key: str, obj: Json) -> bool:
        return key.startswith(self._prefix) and self._selection.holds(obj)

    def _queue(self, line: bytes) -> None:
        self._lines.append((self._loop.time() + self._delay(self.call), line))
        self._stirred.set()

    def hold(self) -> None:
        """Delivers nothing until released."""
        self._held = True

    def release(self) -> None:
        self._held = False
        self._stirred.set()

    def break_off(self, *, midway: float = 0.0) -> None:
        """Drops the connection: `midway` through the bytes of the next event, if there is one."""
        self._broken = midway
        self._stirred.set()

    def stop(self) -> None:
        self._unsubscribe()

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> bytes:
        silent_until = self._loop.time() + self._idle_limit
        while True:
            now = self._loop.time()
            if self._broken is not None:
                return self._break()
            ready = bool(self._lines) and not self._held
            if ready and self._lines[0][0] <= now:
                return self._lines.popleft()[1]
            if now >= self._ends:
                raise StopAsyncIteration
            if self._bookmarks and now >= self._next_bookmark and not self._lines:
                return self._bookmark()
            if now >= silent_until:
                raise Silent("the watch was silent for too long")
            wake = min(self._ends, silent_until)
            if ready:
                wake = min(wake, self._lines[0][0])
            if self._bookmarks and not self._lines:
                wake = min(wake, self._next_bookmark)
            await self._wait_until(wake)

    def _break(self) -> bytes:
        cut = 0
        if self._broken and self._lines:
            cut = int(len(self._lines[0][1]) * self._broken)
        self._broken = 0.0
        if not cut:
            raise Unreachable("the watch was cut off")
        partial = self._lines[0][1][:cut]
        self._lines.clear()
        return partial

    def _bookmark(self) -> bytes:
        self._next_bookmark = self._loop.time() + BOOKMARK_INTERVAL
        where = self.call.route
        obj = {
            "kind": where.kind.kind,
            "apiVersion": where.api_version,
            "metadata": {"resourceVersion": str(self._state.store.revision)},
        }
        return event_line("BOOKMARK", encode(obj))

    async def _wait_until(self, moment: float) -> None:
        self._stirred.clear()
        timer = self._loop.call_at(moment, self._stirred.set)
        try:
            await self._stirred.wait()
        finally:
            timer.cancel()


class ErrorEvent:
    """A watch that could not start: kube-apiserver says so in an event, under HTTP 200."""

    def __init__(self, failure: Failure) -> None:
        self._lines = [event_line("ERROR", encode(failure.status))]

    def __aiter__(self) -> "ErrorEvent":
        return self

    async def __anext__(self) -> bytes:
        if not self._lines:
            raise StopAsyncIteration
        return self._lines.pop()
