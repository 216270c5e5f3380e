"""The controller of PodUnavailableBudgets: all its parts, put together for one process.

Every process watches, keeps the index and answers at the gate. The leader also recounts the budgets
and gates their namespaces.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.kube.queue import Queue, work
from intact.kube.reflector import Reflector
from intact.kube.resources import PUBS
from intact.kube.store import Key, Store
from intact.model.meta import LabelSelector
from intact.model.places import Namespace
from intact.model.pub import PodUnavailableBudget
from intact.operator.pub.commits import Commits
from intact.operator.pub.confirmation import Confirmation
from intact.operator.pub.expected import ExpectedUnits
from intact.operator.pub.gate import Gate, Observe, ignore
from intact.operator.pub.gated_namespaces import GatedNamespaces
from intact.operator.pub.index import PubIndex, ignore_dirty
from intact.operator.pub.native_budgets import AskDoor, NativeBudgets, no_door
from intact.operator.pub.node_deadlines import NodeDeadlines
from intact.operator.pub.pin import Pin
from intact.operator.pub.recount import Recounter
from intact.operator.pub.targets import Targets
from intact.operator.pub.validation import PubValidation
from intact.operator.watch.selection import EVERYWHERE, Selection
from intact.operator.watch.shared import Watches
from intact.operator.webhook.denials import Denials

_WORKERS = 16


class PubController:
    def __init__(
        self,
        client: Client,
        identity: str,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        observe: Observe = ignore,
        selected: LabelSelector = EVERYWHERE,
        rng: random.Random | None = None,
        watches: Watches | None = None,
        ask_door: AskDoor = no_door,
    ) -> None:
        """The caller runs the watches that it gives. Pods are held in `selected` namespaces."""
        self._rng = rng or random.Random()
        self._leading = False
        self._runs_watches = watches is None
        self._watches = watches or Watches(client, rng=self._rng)
        self.pods, self.namespaces = self._watches.pods, self._watches.namespaces
        self.workloads = self._watches.workloads
        self.budgets: Reflector[PodUnavailableBudget] = Reflector(
            client, PUBS, Store({"namespace": lambda pub: [pub.metadata.namespace]}), rng=self._rng
        )
        self._selection = Selection(selected, self.namespaces.store)
        self.index = PubIndex(self.pods.store, self.budgets.store, self.workloads)
        self.events = EventRecorder(client, "intact", identity, now=now)
        self.denials = Denials(self.events)
        self.commits = Commits(client, self.index, self.budgets, now=now)
        self.pin = Pin(client)
        self.confirmation = Confirmation(client, self.pods.store)
        self.gate = Gate(
            client,
            self.confirmation,
            NativeBudgets(self._watches.pdbs.store, ask_door),
            self.index,
            self.workloads,
            self.namespaces.store,
            self.commits,
            self.denials,
            NodeDeadlines(client, self.events, now=now),
            observe,
        )
        targets = Targets(client, self.workloads)
        largest = self.index.largest_group
        self.validation = PubValidation(
            client, self.budgets.store, targets, largest, self._selection.has
        )
        self.recounts: Queue[Key] = Queue("pub", rng=self._rng)
        self.gatings: Queue[str] = Queue("gating", rng=self._rng)
        self.gating = GatedNamespaces(
            client,
            self.index,
            self.namespaces.store,
            self.gatings,
            self._recount_soon,
            self._selection.selects,
        )
        self.recounter = Recounter(
            client,
            self.index,
            self.commits,
            ExpectedUnits(client, self.index, self.workloads),
            targets,
            self.pods,
            self.events,
            now=now,
            leads=leads,
            is_gated=self.gating.is_gated,
            is_selected=self._selection.has,
            is_doubtful=self._watches.is_doubtful,
            queue=self.recounts,
        )
        self.budgets.store.subscribe(self._budget_changed)
        self.namespaces.store.subscribe(self._namespace_changed)

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [self.budgets, *self._watches.reflectors]

    async def run(self) -> None:
        """What every process does, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._runs_watches:
                group.create_task(self._watches.run())
            group.create_task(self.budgets.run())
            group.create_task(self.events.run())
            group.create_task(self.denials.run())

    async def wait_synced(self) -> None:
        """Until then the index is not complete, and the gate must not answer."""
        await self.budgets.wait_synced()
        await self._watches.wait_synced()

    async def lead(self) -> None:
        """What the leader does, until cancelled."""
        # An earlier leader may have seen newer pods than this process: list them before counting.
        self.pods.list_again()
        await self.wait_synced()
        self._leading = True
        self.index.on_dirty = self.recounter.mark
        try:
            for key in self.index.entries:
                self.recounts.add(key)
            for namespace in self.namespaces.store:
                self.gatings.add(namespace.metadata.name)
            async with asyncio.TaskGroup() as group:
                for _ in range(_WORKERS):
                    group.create_task(work(self.recounts, self.recounter.reconcile))
                group.create_task(work(self.gatings, self.gating.reconcile))
        finally:
            self._leading = False
            self.index.on_dirty = ignore_dirty

    def _recount_soon(self, key: Key) -> None:
        self.recounter.mark(key)

    def _budget_changed(
        self, old: PodUnavailableBudget | None, new: PodUnavailableBudget | None
    ) -> None:
        if self._leading and (old is None or new is None):
            self.gatings.add((new or old).metadata.namespace)  # type: ignore[union-attr]

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is None or not self._leading:
            return
        if old is None or old.metadata.labels != new.metadata.labels:
            self.gatings.add(new.metadata.name)
        if old is not None and self._selection.selects(old) != self._selection.selects(new):
            for key in self.index.budgets_in(new.metadata.name):
                self._recount_soon(key)
