"""PodDisruptionBudget: all its parts, put together for one replica.

Two controllers share what they look at. `pdb` counts budgets in groups and is at home on any
cluster: it touches only budgets that ask for it. `disruption` is Kubernetes' own disruption
controller, for all other budgets, where kube-controller-manager runs without it.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from intact.budget.pdb_counts import PodCounts
from intact.budget.pdb_scope import counts_pods
from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.kube.queue import Queue, work
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS
from intact.kube.store import Key, Store
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb_index import PdbIndex, Tally
from intact.operator.watches import Watches

_WORKERS = 8
GATHER = 0.1
"""Seconds for which events are gathered."""


class PdbReplica:
    def __init__(
        self,
        client: Client,
        identity: str,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        groups: bool = True,
        disruption: bool = False,
        rng: random.Random | None = None,
        watches: Watches | None = None,
    ) -> None:
        """Watches that are given are run by whoever gave them. `groups` and `disruption` say which
        of the two controllers run."""
        self._rng = rng or random.Random()
        self._leading = False
        self._groups, self._disruption = groups, disruption
        self._runs_watches = watches is None
        self._watches = watches or Watches(client, rng=self._rng)
        self.budgets: Reflector[PodDisruptionBudget] = Reflector(
            client, PDBS, Store(), rng=self._rng
        )
        self.events = EventRecorder(client, "intact", identity, now=now)
        self.index = PdbIndex(
            self._watches.pods.store,
            self.budgets.store,
            self._watches.workloads,
            self._make_tally,
        )
        self.recounts: Queue[Key] = Queue("disruption", rng=self._rng)
        self.index.on_dirty(self._mark)

    def _make_tally(self, budget: PodDisruptionBudget) -> Tally | None:
        if self._groups and not counts_pods(budget):
            return None
        return PodCounts() if self._disruption else None

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [self.budgets, *self._watches.reflectors]

    async def run(self) -> None:
        """What every replica does, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._runs_watches:
                group.create_task(self._watches.run())
            group.create_task(self.budgets.run())
            group.create_task(self.events.run())

    async def wait_synced(self) -> None:
        """Before this the index is not complete, and nobody may ask it."""
        await self.budgets.wait_synced()
        await self._watches.wait_synced()

    async def lead(self) -> None:
        """What the leader does, until cancelled."""
        await self.wait_synced()
        self._leading = True
        try:
            for key in self.index.entries:
                self.recounts.add(key)
            async with asyncio.TaskGroup() as group:
                for _ in range(_WORKERS):
                    group.create_task(work(self.recounts, self._reconcile))
        finally:
            self._leading = False

    def _mark(self, key: Key) -> None:
        if self._leading:
            self.recounts.add_after(key, GATHER)

    async def _reconcile(self, key: Key) -> None:
        """Count a budget again."""
