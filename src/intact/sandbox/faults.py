"""Faults between a client and the server, as a test or a simulation orders them.

All chance comes from the one generator that the faults were made with, so that a run with the same
seed fails in the same places.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from intact.kube.errors import Unreachable
from intact.kube.transport import Request
from intact.sandbox.api.routing import Call
from intact.sandbox.api.watch import Watch

Matches = Callable[[Request], bool]


class Moment(Enum):
    BEFORE = "before"
    """The request is lost: nothing was done."""
    AFTER = "after"
    """The answer is lost: what was asked for has been done."""


def _any_request(_request: Request) -> bool:
    return True


@dataclass(slots=True)
class _Once:
    matches: Matches
    moment: Moment
    left: int
    sent: bool


@dataclass(slots=True)
class _Chance:
    matches: Matches
    probability: float
    moment: Moment


class Faults:
    def __init__(self, rng: random.Random, compact: Callable[[], None]) -> None:
        self._rng = rng
        self._compact = compact
        self._once: list[_Once] = []
        self._chances: list[_Chance] = []
        self._delays: list[tuple[Matches, float, float]] = []
        self._holds: list[Matches] = []
        self._watches: dict[int, Watch] = {}
        self._opened = 0
        self.expired_as_http = False
        """A watch that is too old is answered with HTTP 410 instead of an ERROR event."""

    def fail_next(
        self,
        matches: Matches = _any_request,
        moment: Moment = Moment.BEFORE,
        *,
        times: int = 1,
        sent: bool = True,
    ) -> None:
        """The next matching requests end with `Unreachable`.

        With `sent` false, the client also learns that the server never saw them.
        """
        if moment is Moment.AFTER and not sent:
            raise ValueError("a request that was carried out has been sent")
        self._once.append(_Once(matches, moment, times, sent))

    def fail_randomly(
        self, probability: float, moment: Moment, matches: Matches = _any_request
    ) -> None:
        """Each matching request ends with `Unreachable` with this probability."""
        self._chances.append(_Chance(matches, probability, moment))

    def delay_watches(self, least: float, most: float, matches: Matches = _any_request) -> None:
        """Each event reaches a matching watch this many seconds late. Their order stays."""
        self._delays.append((matches, least, most))

    def hold_watches(self, matches: Matches = _any_request) -> None:
        """Matching watches, open or yet to be opened, deliver nothing until released."""
        self._holds.append(matches)
        for watch in self._matching(matches):
            watch.hold()

    def release_watches(self) -> None:
        self._holds.clear()
        for watch in self._watches.values():
            watch.release()

    def break_watches(self, matches: Matches = _any_request, *, midway: bool = False) -> int:
        """Drops the connections of matching watches, and says how many.

        With `midway`, in the middle of the bytes of the next event, if one is due.
        """
        broken = self._matching(matches)
        for watch in broken:
            watch.break_off(midway=self._rng.uniform(0.05, 0.95) if midway else 0.0)
        return len(broken)

    def expire(self) -> None:
        """From now on, every resourceVersion before the present one is too old."""
        self._compact()

    def heal(self) -> None:
        """No more faults. Watches that are held are released."""
        self._once.clear()
        self._chances.clear()
        self._delays.clear()
        self.release_watches()

    def strike(self, request: Request, moment: Moment) -> None:
        """Raises if the request is to fail at this moment. The server calls it."""
        for once in self._once:
            if once.moment is moment and once.matches(request):
                once.left -= 1
                if not once.left:
                    self._once.remove(once)
                raise Unreachable(_explain(request, moment), sent=once.sent)
        for chance in self._chances:
            if chance.moment is not moment or not chance.matches(request):
                continue
            if self._rng.random() < chance.probability:
                raise Unreachable(_explain(request, moment))

    def delay(self, call: Call) -> float:
        """Seconds by which the next event of a watch is late."""
        return sum(
            self._rng.uniform(least, most)
            for matches, least, most in self._delays
            if matches(call.request)
        )

    def opened(self, watch: Watch) -> Callable[[], None]:
        """Takes a watch under control until the returned function is called."""
        self._opened += 1
        number = self._opened
        self._watches[number] = watch
        if any(matches(watch.call.request) for matches in self._holds):
            watch.hold()
        return lambda: (self._watches.pop(number, None), None)[1]

    def _matching(self, matches: Matches) -> list[Watch]:
        return [watch for watch in self._watches.values() if matches(watch.call.request)]


def _explain(request: Request, moment: Moment) -> str:
    return f"{request.method} {request.path}: connection lost {moment.value} it was carried out"
