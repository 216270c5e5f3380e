"""A film on the page: any of its frames as a moment, and what went on up to it."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from intact.cli.dashboard.history import Drain, History
from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import Values
from intact.cli.why.events import Refused
from intact.model.times import timestamp
from intact.picture.budgets import BudgetPicture
from intact.sandbox.rehearsal.film import Film, Refusal

KEPT = 8


class Screening:
    """`kept` moments stay drawn: a reader goes back and forth between few."""

    def __init__(self, film: Film, kept: int = KEPT) -> None:
        self._film = film
        self._kept = kept
        self._moments: OrderedDict[int, Moment] = OrderedDict()
        self._drains: list[Mapping[str, Drain]] = []
        """Of each frame, as far as the film has been recorded."""
        self._covered: dict[Hashable, set[str]] = {}
        """The UIDs of all pods that a budget has had, as far as the film has been recorded."""

    @property
    def end(self) -> datetime:
        return self._film.began + timedelta(seconds=self._film.seconds[-1])

    def at(self, number: int) -> Moment:
        """The nearest if there is no such frame."""
        number = min(number, self._film.length - 1)
        if number not in self._moments:
            frame = self._film.at(number)
            self._moments[number] = Moment(frame.objects, frame.now)
            if len(self._moments) > self._kept:
                self._moments.popitem(last=False)
        self._moments.move_to_end(number)
        return self._moments[number]

    def frame(self, number: int) -> Values:
        number = min(number, self._film.length - 1)
        seconds = self._film.seconds
        return {
            "number": number,
            "frames": self._film.length,
            "seconds": seconds[number],
            "lasts": seconds[-1],
        }

    def drains(self, number: int) -> Mapping[str, Drain]:
        known = self._drains[: number + 1]
        return known[-1] if known else {}

    def refusals(self, number: int) -> Sequence[Refusal]:
        """The start is before all that happens, also in its second."""
        until = self.frame(number)["seconds"]
        return [one for one in self._film.refusals if number and one.at <= until]

    def refused(self, budget: BudgetPicture, number: int) -> Sequence[Refused]:
        """Evictions of pods that the budget has had, up to the frame, the latest first. A pod may
        have gone since."""
        covered = self._covered.get(_key(budget), set())
        seconds = self.frame(number)["seconds"]
        found = [
            Refused(
                f"eviction of {one.pod}, requested by kubectl drain {one.node}: {one.why}",
                one.times,
                timestamp(self._film.began + timedelta(seconds=min(one.until, seconds))),
            )
            for one in self.refusals(number)
            if one.uid in covered
        ]
        return found[::-1]

    async def record(self, history: History) -> None:
        """All frames, one after the other; requests are answered in between."""
        for frame in self._film.frames():
            moment = Moment(frame.objects, frame.now)
            history.add(moment)
            for one in moment.picture.budgets:
                covered = self._covered.setdefault(_key(one), set())
                covered.update(pod.metadata.uid for unit in one.units for pod in unit.pods)
            self._drains.append(
                {name: replace(one, pods=set(one.pods)) for name, one in history.drains.items()}
            )
            await asyncio.sleep(0)


def _key(budget: BudgetPicture) -> Hashable:
    return budget.kind, budget.namespace, budget.name
