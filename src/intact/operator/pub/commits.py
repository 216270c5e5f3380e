"""Group commit: admissions that wait for one budget are decided together and stored in one write.

An allowance counts only once its status is stored under the version that it was decided on. After a
conflict the budget is read afresh, and everything that waits is decided again.

While the server has not been heard since the watch of budgets ended, nothing is decided: it may
have been restored from a backup. Then a record that this process knows is not stored any more, and
the server may give the version that this process knows to another status.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from intact.budget.pub.decision import Decision, Reason, decide
from intact.budget.pub.ledger import Operation
from intact.budget.pub.subject import Subject
from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound
from intact.kube.reflector import Reflector
from intact.kube.store import Key
from intact.model.pub import PodUnavailableBudget, PubStatus
from intact.operator.pub.index import PubEntry, PubIndex
from intact.operator.pub.status import read_again, store_status

_ATTEMPTS = 20
_PAUSE = 0.02
"""Seconds between two commits of a busy budget, so that more admissions share the next one."""
_MORE = 0.005
_MOST = 0.025
"""Seconds: the first admission of a burst waits `_MORE` for others, again as long as any come, and
`_MOST` in all. Otherwise it has a write of its own, and all the others wait for that one."""
_CERTAIN_WITHIN = 2.0
_LOOK_AGAIN = 0.02
"""Seconds for which admissions wait for a budget that is in doubt, and after which they look
again."""
FREE = Decision(True, Reason.RELEASED)


@dataclass(frozen=True, slots=True)
class _Waiting:
    subject: Subject
    operation: Operation
    answer: asyncio.Future[Decision]


class Commits:
    def __init__(
        self,
        client: Client,
        index: PubIndex,
        budgets: Reflector[PodUnavailableBudget],
        *,
        now: Callable[[], datetime],
    ) -> None:
        self.commits = 0
        self.committed = 0
        """Admissions that these commits have stored."""
        self.conflicts = 0
        self._client = client
        self._index = index
        self._now = now
        self._budgets = budgets
        self._waiting: dict[Key, list[_Waiting]] = {}
        self._workers: dict[Key, asyncio.Task[None]] = {}

    def preview(self, entry: PubEntry, subject: Subject, operation: Operation) -> Decision:
        """What the answer would be now, with nothing stored."""
        return self._decide(entry, entry.budget, subject, operation)

    async def commit(self, key: Key, subject: Subject, operation: Operation) -> Decision:
        """Decide, and return once what was decided is stored."""
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._wait(key, [_Waiting(subject, operation, answer)])
        return await answer

    @property
    def is_doubtful(self) -> bool:
        """Whether the budgets may be others by now than this process knows."""
        return self._budgets.is_doubtful

    async def store_with(
        self, entry: PubEntry, base: PodUnavailableBudget, status: PubStatus
    ) -> None:
        """Store a recount, and in the same write all admissions that wait for the budget. The
        caller holds `entry.writing`."""
        batch = self._waiting.pop(entry.key, [])
        try:
            decisions = await self._write(entry, base, status, batch)
        except BaseException:
            self._wait(entry.key, batch)
            raise
        _answer(batch, decisions)

    def _wait(self, key: Key, batch: list[_Waiting]) -> None:
        if not batch:
            return
        self._waiting.setdefault(key, []).extend(batch)
        if key not in self._workers:
            self._workers[key] = asyncio.create_task(self._work(key), name=f"commit {key}")

    async def _work(self, key: Key) -> None:
        try:
            await self._gather(key)
            while key in self._waiting:
                batch: list[_Waiting] = []
                try:
                    await self._commit(key, batch)
                except Exception as error:  # noqa: BLE001 - raised where the answer is awaited
                    for waiting in batch:
                        if not waiting.answer.done():
                            waiting.answer.set_exception(error)
                if len(batch) > 1 and not self._takes_turns(key):
                    await asyncio.sleep(_PAUSE)
        finally:
            del self._workers[key]
            for waiting in self._waiting.pop(key, ()):
                waiting.answer.cancel()

    async def _gather(self, key: Key) -> None:
        clock = asyncio.get_running_loop().time
        known, until = 0, clock() + _MOST
        while known < (known := len(self._waiting.get(key, ()))) and clock() < until:
            await asyncio.sleep(_MORE)

    def _takes_turns(self, key: Key) -> bool:
        entry = self._index.entries.get(key)
        return entry is not None and entry.turn.is_shared

    async def _commit(self, key: Key, batch: list[_Waiting]) -> None:
        """Answer all that wait, also those that come before the write begins."""
        try:
            decisions = await self._store(key, batch)
        except KubeError as error:
            decisions = [_unwritable(key, error)] * len(batch)
        _answer(batch, decisions)

    async def _store(self, key: Key, batch: list[_Waiting]) -> list[Decision]:
        for _ in range(_ATTEMPTS):
            is_certain = await self._be_certain()
            entry = self._index.entries.get(key)
            if entry is None or not is_certain:
                batch += self._waiting.pop(key, ())
                return [FREE if is_certain else _in_doubt(key)] * len(batch)
            async with entry.writing:
                await entry.turn.come()
                batch += self._waiting.pop(key, ())
                if self.is_doubtful or self._index.entries.get(key) is not entry:
                    continue
                try:
                    return await self._write(entry, entry.budget, entry.budget.status, batch)
                except NotFound:
                    return [FREE] * len(batch)
                except Conflict:
                    self.conflicts += 1
                try:
                    await read_again(self._client, entry)
                except NotFound:
                    return [FREE] * len(batch)
        return [_contended(key)] * len(batch)

    async def _be_certain(self) -> bool:
        """Wait while the budgets are in doubt, but not for long."""
        clock = asyncio.get_running_loop().time
        until = clock() + _CERTAIN_WITHIN
        while self.is_doubtful and clock() < until:
            await asyncio.sleep(_LOOK_AGAIN)
        return not self.is_doubtful

    async def _write(
        self, entry: PubEntry, base: PodUnavailableBudget, status: PubStatus, batch: list[_Waiting]
    ) -> list[Decision]:
        """Decide on this status, and store the result if it is not the status of `base`."""
        budget = msgspec.structs.replace(base, status=status)
        decisions = []
        for waiting in batch:
            decision = self._decide(entry, budget, waiting.subject, waiting.operation)
            decisions.append(decision)
            if decision.status is not None:
                budget = msgspec.structs.replace(budget, status=decision.status)
        if budget.status is not base.status:
            await store_status(self._client, entry, base, budget.status)
        if recorded := sum(decision.status is not None for decision in decisions):
            self.commits += 1
            self.committed += recorded
        return decisions

    def _decide(
        self, entry: PubEntry, budget: PodUnavailableBudget, subject: Subject, operation: Operation
    ) -> Decision:
        counted = entry.counts.ledger
        unknown = [uid for uid in budget.status.ledger.pods if uid not in counted]
        in_groups = entry.group_key is not None and budget.status.ledger.reached
        live = entry.counts.available_without(unknown, in_groups=in_groups)
        # Only a surplus pod of a group needs the count without it.
        grouped = in_groups and subject.group is not None
        without = entry.counts.available_without([*unknown, subject.uid]) if grouped else live
        return decide(budget, subject, operation, self._now(), live, without)


def _answer(batch: list[_Waiting], decisions: list[Decision]) -> None:
    for waiting, decision in zip(batch, decisions, strict=True):
        if not waiting.answer.done():
            waiting.answer.set_result(decision)


def _unwritable(key: Key, error: KubeError) -> Decision:
    message = f"Intact cannot store its decision in the budget {key[1]} now: {error}"
    return Decision(False, Reason.UNWRITABLE, message)


def _contended(key: Key) -> Decision:
    message = f"Too many requests compete for the budget {key[1]}; try again in a moment."
    return Decision(False, Reason.UNWRITABLE, message)


def _in_doubt(key: Key) -> Decision:
    message = (
        f"The connection to the API server has been lost, and the budget {key[1]} may be another "
        "one by now; try again in a moment."
    )
    return Decision(False, Reason.UNWRITABLE, message)
