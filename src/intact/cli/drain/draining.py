"""The drain itself: it sees what there is, plans, asks the server, and waits for something to
change. Nothing is asked for by the clock, but for what the server itself, or nothing that can be
watched, explains."""

import asyncio
import math
import random
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from intact.cli.drain.answers import Answer, Said, blamed, explained, told_until
from intact.cli.drain.events import Event, Tell, What
from intact.cli.drain.evictions import Evictions
from intact.cli.drain.filters import Fate, is_skipped, verdict
from intact.cli.drain.left import blocks, waits_for
from intact.cli.drain.options import Options
from intact.cli.drain.plan import Candidate, Class, next_units
from intact.cli.drain.refusals import Known, Refusal, Refusals
from intact.cli.drain.tracked import State, Tracked
from intact.cli.drain.turns import Turns
from intact.cli.drain.units import BudgetKey, DrainUnit, UnitKey, all_units, allowed, key_of
from intact.cli.drain.watching import Watching
from intact.kube.retry import Backoff
from intact.model.pod import DetailedPod
from intact.model.pod_state import is_terminating
from intact.picture.budgets import BudgetPicture

FAILURES = 10
"""Answers in a row with which the server fails, after which a pod counts as an error."""
_BACKOFF = Backoff(first=0.5, most=30.0)
_UNREACHABLE = Backoff(first=0.2, most=5.0)
_SHARE = 4
"""After a picture, so many times what it cost pass before the next one."""
_LAST_ANSWERS = 5.0
"""Seconds in which requests that are under way may still be answered at the end."""


class Result(StrEnum):
    DRAINED = "drained"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    ERRORS = "errors"


class Draining:
    def __init__(
        self,
        watching: Watching,
        evictions: Evictions,
        nodes: Iterable[str],
        options: Options,
        tell: Tell,
        now: Callable[[], datetime],
        *,
        selected: Callable[[str], bool] = lambda _uid: True,
        rng: random.Random | None = None,
    ) -> None:
        """`selected` says of a UID whether the user means the pod."""
        self.stop = asyncio.Event()
        self.tracked: dict[str, Tracked] = {}
        self._watching = watching
        self._evictions = evictions
        self._options = options
        self._tell = tell
        self._now = now
        self._rng = rng or random.Random()
        self._turns = Turns(list(nodes), options.parallel, options.pause_between)
        self._refusals = Refusals()
        self._selected = selected
        self._existing: set[str] = set()
        self._sorted: set[str] = set()
        """The pods whose fate is known."""
        self._tasks: dict[asyncio.Task[None], tuple[UnitKey, set[Class]]] = {}
        self._unseen: dict[BudgetKey, dict[UnitKey, tuple[int, str]]] = {}
        self._units: list[DrainUnit] = []
        self._waiting: dict[BudgetKey, tuple[str, str]] = {}
        self._unreachable = 0
        self._error: BaseException | None = None
        """Of a request; none is expected."""

    async def run(self, pods: Iterable[DetailedPod]) -> Result:
        """Until all these pods are gone. Those that come to the nodes meanwhile go, too, if they
        were created before now: a pod that is made for a cordoned node would come back forever."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._options.timeout if self._options.timeout else math.inf
        self._existing = {pod.metadata.uid for pod in self._watching.pods}
        self._sorted = {pod.metadata.uid for pod in self._watching.on_drained()}
        for pod in pods:
            self.tracked[pod.metadata.uid] = Tracked(pod)
        self._watching.on_change = self._changed
        wake = self._watching.wake
        stopping = asyncio.ensure_future(self.stop.wait())
        try:
            while True:
                wake.clear()
                begun = loop.time()
                await self._step(begun)
                if self._error is not None:
                    raise self._error
                ended = loop.time()
                if self._is_over():
                    failed = any(one.state is State.FAILED for one in self.tracked.values())
                    return Result.ERRORS if failed else Result.DRAINED
                until = min(deadline, self._next_time(ended))
                await _first(stopping, wake, until)
                if self.stop.is_set():
                    return Result.INTERRUPTED
                if loop.time() >= deadline:
                    return Result.TIMEOUT
                # Many changes come together: one picture shows them all.
                rest = begun + (1 + _SHARE) * (ended - begun) - loop.time()
                if rest > 0:
                    await _first(stopping, None, min(deadline, loop.time() + rest))
        finally:
            stopping.cancel()
            await self._end()

    async def _end(self) -> None:
        """A request that is under way may be granted: its answer is waited for, a moment."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_ANSWERS)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Seeing

    async def _step(self, now: float) -> None:
        self._see()
        while True:
            for node in self._turns.active:
                if self._is_empty(node):
                    self._turns.finish(node)
                    if not self._failed_on(node):
                        self._tell(Event(What.DRAINED, node=node))
            before = self._turns.begun
            if not self._turns.advance(now):
                break
            if self._turns.resumes is not None:
                self._tell(Event(What.PAUSING, seconds=self._options.pause_between))
            for node in self._turns.begun[len(before) :]:
                self._begin(node)
        await self._plan(now)

    def _see(self) -> None:
        present = {pod.metadata.uid: pod for pod in self._watching.on_drained()}
        for uid, one in self.tracked.items():
            if one.state is State.GONE:
                continue
            pod = present.get(uid)
            if pod is None:
                one.state = State.GONE
                self._tell(one.about(What.EVICTED))
                continue
            one.pod = pod
            if is_terminating(pod):
                one.state = State.LEAVING
                if is_skipped(pod, self._options, self._now()):
                    one.state = State.GONE
        for uid, pod in present.items():
            if uid not in self._sorted:
                self._sorted.add(uid)
                self._sort_out(pod)

    def _sort_out(self, pod: DetailedPod) -> None:
        """A pod that has come to a node since the beginning."""
        uid = pod.metadata.uid
        said = verdict(pod, self._options, lambda _namespace, _name: True)
        if said.fate is Fate.STAYS or not self._selected(uid) or is_terminating(pod):
            return
        one = Tracked(pod)
        if uid not in self._existing:
            self._tell(one.about(What.LATE))
            return
        self.tracked[uid] = one
        if said.fate is Fate.BLOCKS:
            self._fail(one, f"cannot delete {said.why}", ())
        if pod.spec.node_name in self._turns.begun:
            self._begin(pod.spec.node_name)

    def _begin(self, node: str) -> None:
        count = sum(one.node == node for one in self.tracked.values())
        self._tell(Event(What.BEGUN, node=node, pods=count))

    def _is_empty(self, node: str) -> bool:
        return all(
            one.state in (State.GONE, State.FAILED)
            for one in self.tracked.values()
            if one.node == node
        )

    def _failed_on(self, node: str) -> bool:
        return any(one.node == node and one.state is State.FAILED for one in self.tracked.values())

    def _is_over(self) -> bool:
        pending = (State.WAITING, State.LEAVING)
        return (
            self._turns.is_over
            and not self._tasks
            and not any(one.state in pending for one in self.tracked.values())
        )

    # Planning

    async def _plan(self, now: float) -> None:
        waiting = [
            one for one in self.tracked.values() if one.state in (State.WAITING, State.FAILED)
        ]
        self._watching.namespaces = {one.pod.metadata.namespace for one in waiting}
        if not waiting:
            self._show_waiting({})
            return
        pictures = await self._watching.draw()
        self._units = all_units(pictures, (one.pod for one in waiting))
        for unit in self._units:
            for pod in unit.pods:
                self._retry_failed(self.tracked[pod.metadata.uid], unit)
        begun = set(self._turns.begun)
        open_units = {
            unit.key: unit
            for unit in self._units
            if any(pod.spec.node_name in begun for pod in unit.pods)
            and any(self._waits(pod) for pod in unit.pods)
        }
        asked = {key for key, _classes in self._tasks.values()}
        under_way = {each for _key, classes in self._tasks.values() for each in classes}
        candidates = [
            Candidate(
                unit.key,
                len(unit.pods),
                unit.is_free,
                unit.costs,
                unit.name,
                getattr(self._refusals.of(unit.key), "at", 0.0),
            )
            for unit in open_units.values()
            if unit.key not in asked and self._refusals.may_ask(unit, now)
        ]
        budgets = {key_of(one): one for unit in open_units.values() for one in unit.budgets}
        room = {key: self._room(key, one) for key, one in budgets.items()}
        for key in next_units(candidates, room, self._refusals.mark, under_way):
            self._ask_unit(open_units[key])
        self._show_waiting(self._blocked(open_units, budgets))

    def _retry_failed(self, one: Tracked, unit: DrainUnit) -> None:
        one.group = unit.group
        if one.state is State.FAILED and one.known not in ((), self._refusals.known(unit)):
            one.state = State.WAITING

    def _waits(self, pod: DetailedPod) -> bool:
        return self.tracked[pod.metadata.uid].state is State.WAITING

    def _room(self, key: BudgetKey, budget: BudgetPicture) -> int:
        """What its numbers allow, without what was granted and does not show in them yet."""
        unseen = self._unseen.get(key, {})
        version = budget.budget.metadata.resource_version
        for unit, (_cost, at) in list(unseen.items()):
            if at != version:
                del unseen[unit]
        return allowed(budget) - sum(cost for cost, _at in unseen.values())

    def _blocked(
        self, units: Mapping[UnitKey, DrainUnit], budgets: Mapping[BudgetKey, BudgetPicture]
    ) -> dict[BudgetKey, tuple[str, str]]:
        """The budgets that units wait for, with their name and what they wait for."""
        asked = {key for key, _classes in self._tasks.values()}
        under_way = {key for _unit, classes in self._tasks.values() for key, _free in classes}
        found: dict[BudgetKey, tuple[str, str]] = {}
        for key, budget in budgets.items():
            if key not in self._refusals.messages:
                continue
            if key in under_way:  # its numbers are about to change
                if key in self._waiting:
                    found[key] = self._waiting[key]
                continue
            if any(
                unit.key not in asked and key in unit.costs and self._refusals.of(unit.key)
                for unit in units.values()
            ):
                said = waits_for(budget, self._refusals.messages[key])
                found[key] = (budget.reference, said)
        return found

    def _show_waiting(self, blocked: dict[BudgetKey, tuple[str, str]]) -> None:
        for key in self._waiting.keys() - blocked.keys():
            name, _text = self._waiting[key]
            self._tell(Event(What.RESUMED, namespace=key[1], budget=name))
        for key, (name, text) in blocked.items():
            if self._waiting.get(key) != (name, text):
                self._tell(Event(What.WAITING, namespace=key[1], budget=name, message=text))
        self._waiting = blocked

    # Asking

    def _ask_unit(self, unit: DrainUnit) -> None:
        free = unit.is_free
        task = asyncio.create_task(self._asked(unit, free=free), name=f"evict {unit.key}")
        self._tasks[task] = unit.key, {(key, free) for key in unit.costs}
        task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._watching.wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error

    async def _asked(self, unit: DrainUnit, *, free: bool) -> None:
        """One pod first, so that a unit that is refused is not broken by half; then the others. Of
        a unit with surplus only the surplus. Budgets that count the group, and allow it as far as
        is known, are asked for all at once: they let the whole group go, or nothing."""
        pods = [pod for pod in unit.pods if self._waits(pod)]
        if free and unit.budgets and unit.free < len(unit.pods):
            pods = pods[: unit.free]
        if unit.goes_as_one:
            await asyncio.gather(*(self._ask(pod, unit, free=free) for pod in pods))
        elif await self._ask(pods[0], unit, free=free):
            await asyncio.gather(*(self._ask(pod, unit, free=free) for pod in pods[1:]))

    async def _ask(self, pod: DetailedPod, unit: DrainUnit, *, free: bool) -> bool:
        """Whether the pod goes."""
        one = self.tracked[pod.metadata.uid]
        known, changes = self._refusals.known(unit), dict(self._refusals.changes)
        versions = {key_of(each): each.budget.metadata.resource_version for each in unit.budgets}
        said = await self._evictions.ask(pod)
        if said.answer is not Answer.UNREACHABLE:
            self._unreachable = 0
        if one.state is State.GONE:
            return True
        match said.answer:
            case Answer.GRANTED | Answer.LEAVING | Answer.GONE:
                one.state = State.LEAVING
                self._refusals.grant(unit, free=free)
                if said.answer is Answer.GRANTED:
                    self._tell(one.about(What.EVICTING))
                    if not free:
                        for key, cost in unit.costs.items():
                            self._unseen.setdefault(key, {})[unit.key] = cost, versions[key]
                return True
            case Answer.ERROR:
                self._fail(one, explained(said.message, unit.budgets), known)
            case _:
                self._refuse(one, unit, said, known, changes, free=free)
        return False

    def _fail(self, one: Tracked, message: str, known: Known) -> None:
        one.state, one.message, one.known = State.FAILED, message, known
        self._tell(one.about(What.FAILED, message))

    def _refuse(
        self,
        one: Tracked,
        unit: DrainUnit,
        said: Said,
        known: Known,
        changes: Mapping[BudgetKey, int],
        *,
        free: bool,
    ) -> None:
        now = asyncio.get_running_loop().time()
        last = self._refusals.of(unit.key)
        attempts = (last.attempts if last is not None else 0) + 1
        not_before, at_latest = 0.0, math.inf
        keys: list[BudgetKey] = []
        one.message = said.message
        match said.answer:
            case Answer.REFUSED:
                keys, certain = blamed(said, unit.budgets)
                wait = said.retry_after
                if wait is None:
                    wait = told_until(said.message, self._now())
                if wait is None and not certain:
                    wait = _BACKOFF.delay(attempts, self._rng)
                if wait is not None:
                    at_latest = now + wait
                names = [each.reference for each in unit.budgets if key_of(each) in keys]
                self._tell(one.about(What.REFUSED, said.message, ", ".join(names)))
            case Answer.UNREACHABLE:
                self._unreachable += 1
                if self._unreachable == 1:
                    self._tell(Event(What.UNREACHABLE, message=said.message))
                not_before = at_latest = now + _UNREACHABLE.delay(attempts, self._rng)
            case Answer.BUSY:
                not_before = at_latest = now + (said.retry_after or 1.0)
            case _:
                if attempts >= FAILURES:
                    return self._fail(one, said.message, known)
                self._tell(one.about(What.REFUSED, said.message))
                wait = max(_BACKOFF.delay(attempts, self._rng), said.retry_after or 0.0)
                not_before = at_latest = now + wait
        if said.answer is Answer.REFUSED and math.isinf(at_latest):
            attempts = 0
        refusal = Refusal(known, said.message, now, not_before, at_latest, changes, attempts)
        self._refusals.refuse(unit, refusal, keys, free=free)
        return None

    def _changed(self, key: BudgetKey) -> None:
        self._refusals.changes[key] += 1

    def _next_time(self, now: float) -> float:
        pause = self._turns.resumes
        asked = self._refusals.next_time((unit.key for unit in self._units), now)
        skip = math.inf
        if self._options.skip_wait_for_delete_timeout and any(
            one.state is State.LEAVING for one in self.tracked.values()
        ):
            skip = now + self._options.skip_wait_for_delete_timeout
        return min(asked, skip, pause if pause is not None else math.inf)

    # Telling

    def left(self) -> list[Event]:
        """The pods that are still there, with why."""
        found = []
        for one in self.tracked.values():
            if one.state is State.GONE:
                continue
            why = "is terminating" if one.state is State.LEAVING else one.message
            found.append(one.about(What.LEFT, why or self._held_by(one)))
        return sorted(found, key=lambda event: (event.node, event.namespace, event.pod))

    def _held_by(self, one: Tracked) -> str:
        """Why a pod that was not asked for waits."""
        names = [
            budget.reference
            for unit in self._units
            if any(pod.metadata.uid == one.pod.metadata.uid for pod in unit.pods)
            for budget in unit.budgets
            if key_of(budget) in self._refusals.messages
        ]
        return f"waits for {' and '.join(names)}" if names else "was not asked for yet"

    def blocking(self) -> list[str]:
        """What the pods that wait are waiting for."""
        waiting = {
            one.pod.metadata.uid for one in self.tracked.values() if one.state is State.WAITING
        }
        budgets = {
            key_of(budget): budget
            for unit in self._units
            if any(pod.metadata.uid in waiting for pod in unit.pods)
            for budget in unit.budgets
            if key_of(budget) in self._refusals.messages
        }
        return [
            line
            for key, budget in sorted(budgets.items())
            for line in blocks(budget, self._refusals.messages[key], self._now())
        ]


async def _first(stopping: "asyncio.Future[Any]", wake: asyncio.Event | None, until: float) -> None:
    """Until it is to stop, something has changed, or the time has come."""
    loop = asyncio.get_running_loop()
    waits: list[asyncio.Future[Any]] = [stopping]
    waking = asyncio.ensure_future(wake.wait()) if wake is not None else None
    if waking is not None:
        waits.append(waking)
    timeout = None if math.isinf(until) else max(0.0, until - loop.time())
    try:
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if waking is not None:
            waking.cancel()
