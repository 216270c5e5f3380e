"""PodDisruptionBudgets: all parts of one process, put together.

Two controllers share their watches and their index. `pdb` counts groups, on any cluster: it writes
only budgets that ask for groups. `disruption` is the disruption controller for all other budgets,
for clusters whose kube-controller-manager runs without its own.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from intact.budget.enforcement import Enforcement, enforcement_of
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_decision import Verdict
from intact.budget.pdb.pod_counts import PodCounts
from intact.budget.pdb.scope import asks_by_field, counts_pods
from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.kube.own_user import OwnUser
from intact.kube.queue import Queue, work
from intact.kube.reflector import Reflector
from intact.kube.store import Key, key_of
from intact.model.pdb import PodDisruptionBudget
from intact.model.places import Namespace
from intact.model.pod import Pod
from intact.operator.pdb.disruption import Disruption
from intact.operator.pdb.door import Door
from intact.operator.pdb.door_namespaces import DoorNamespaces
from intact.operator.pdb.events import DisruptionEvents
from intact.operator.pdb.give_back import GiveBack, is_left_over
from intact.operator.pdb.group_recount import GroupRecount
from intact.operator.pdb.group_sources import GroupSources
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.kep_fields import KepFields
from intact.operator.pdb.leaving import Leaving
from intact.operator.pdb.other_writers import OtherWriters
from intact.operator.pdb.pauses import Pauses
from intact.operator.pdb.redefinitions import Redefinitions
from intact.operator.pdb.stale_targets import StaleTargets
from intact.operator.pdb.status_gate import PdbStatusGate
from intact.operator.pdb.status_writer import GROUPS_MANAGER, StatusWriter
from intact.operator.pdb.tallies import Tallies, counting_groups
from intact.operator.pdb.turns import Turns
from intact.operator.pdb.validation import PdbValidation
from intact.operator.watch.shared import Watches
from intact.operator.webhook.denials import Denials

_WORKERS = 32
"""So many, because they only wait for the API server."""
GATHER = 0.25
"""Seconds. All changes since the last such beat of the clock are counted together: that makes fewer
status writes, and answers that arrive together wake the process once."""

Observe = Callable[[PodDisruptionBudget, Verdict, Enforcement], None]
"""Called with each decision about an eviction under a budget that counts groups."""


def ignore(_budget: PodDisruptionBudget, _verdict: Verdict, _mode: Enforcement) -> None:
    """Observes nothing."""


class PdbController:
    def __init__(
        self,
        client: Client,
        identity: str,
        *,
        now: Callable[[], datetime],
        leads: Callable[[], bool],
        groups: bool = True,
        disruption: bool = False,
        only_status: bool = False,
        rng: random.Random | None = None,
        watches: Watches | None = None,
        observe: Observe = ignore,
    ) -> None:
        """The caller runs the watches that it passes in. `groups` and `disruption` say which of the
        two controllers run. With `only_status` the latter writes what kube-controller-manager
        writes, beside any other writer."""
        self._rng = rng or random.Random()
        self._leading = False
        self.reconciliations = {"pod": 0, "group": 0}
        """How often a budget was counted, by what it counts."""
        self._groups, self._disruption = groups, disruption
        self._needs_sources = asyncio.Event()
        if groups:
            self._needs_sources.set()
        self._runs_watches = watches is None
        self._watches = watches or Watches(client, rng=self._rng)
        self.budgets, self.pods = self._watches.pdbs, self._watches.pods
        self.events = EventRecorder(client, "intact", identity, now=now)
        self.denials = Denials(self.events)
        self.denied: dict[Key, Counter[str]] = {}
        """How often a budget that counts groups has denied an eviction, by reason."""
        self._observe = observe
        self.recounts: Queue[Key] = Queue("disruption", rng=self._rng)
        self.disruption_events = DisruptionEvents(self.events)
        self.sources = GroupSources(
            client, self._watches.workloads, self._watches.pods.store, rng=self._rng
        )
        self.index = PdbIndex(
            self._watches.pods.store,
            self.budgets.store,
            self._watches.workloads,
            Tallies(self.sources, groups, disruption).make,
        )
        self.index.on_dirty(self._mark)
        self.redefinitions = Redefinitions(self.index, self.sources, self._watches.pods.store)
        self.turns, self.pauses = Turns(), Pauses()
        self.fields = KepFields(client, now=now)
        self.status_gate = PdbStatusGate(
            self.index,
            self._watches.pods,
            OwnUser(client),
            self.turns,
            self.denials,
            self.fields,
            now=now,
            is_doubtful=self._is_doubtful,
            observe=self._decided,
        )
        self.door = Door(
            client,
            self.index,
            self.budgets.store,
            self._watches.pods.store,
            self.status_gate,
            self.turns,
            self.denials,
            self._decided,
        )
        self.doors: Queue[str] = Queue("doors", rng=self._rng)
        self.door_namespaces = DoorNamespaces(
            client, self._watches.namespaces.store, self._has_groups
        )
        self.validation = PdbValidation(
            client, self._watches.pods.store, self.sources, Leaving(client, now=now), now=now
        )
        self.group_writer = StatusWriter(
            client, self.index, self.recounts, leads=leads, field_manager=GROUPS_MANAGER
        )
        self.group_recount = GroupRecount(
            client,
            self.index,
            self.sources,
            self._watches.workloads,
            self._watches.pods,
            self.group_writer,
            self.disruption_events,
            self.recounts,
            self.fields,
            now=now,
            is_doubtful=self._is_doubtful,
            report_no_pods=disruption,
        )
        self.give_back = GiveBack(
            self.group_writer, self.disruption_events, now=now, keep_replicas=disruption
        )
        self.disruption_writer = StatusWriter(client, self.index, self.recounts, leads=leads)
        self.disruption = Disruption(
            self.index,
            self._watches.workloads,
            self._watches.pods.store,
            self.disruption_writer,
            self.disruption_events,
            self.recounts,
            self.fields,
            now=now,
            groups=groups,
            only_status=only_status,
        )
        self._is_alone = not only_status
        self.targets: Queue[Key] = Queue("stale_pod_disruption", rng=self._rng)
        self.stale_targets = StaleTargets(
            client, self._watches.pods.store, self.targets, now=now, leads=leads
        )
        self.other_writers = OtherWriters(self.disruption_events, self._is_sole_writer)
        self.budgets.store.subscribe(self._budget_changed)
        self._watches.namespaces.store.subscribe(self._namespace_changed)
        if disruption:
            self.index.on_overlap(self._overlap)
            self._watches.pods.store.subscribe(self._pod_changed)

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [*self.sources.reflectors.values(), *self._watches.reflectors]

    def _is_doubtful(self) -> bool:
        """Whether any store, also of definitions, may show what never was."""
        return self._watches.is_doubtful() or any(
            reflector.is_doubtful for reflector in self.sources.reflectors.values()
        )

    async def run(self) -> None:
        """What every process does, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._runs_watches:
                group.create_task(self._watches.run())
            group.create_task(self._follow_sources())
            group.create_task(self.events.run())
            group.create_task(self.denials.run())

    async def _follow_sources(self) -> None:
        """From the beginning, or from when the first budget asks for groups by its field."""
        await self._needs_sources.wait()
        await self.sources.run()

    async def wait_synced(self) -> None:
        """Until then the index is incomplete, and the gate must not answer from it."""
        await self._watches.wait_synced()
        if self._needs_sources.is_set():
            await self.sources.wait_synced()

    async def lead(self) -> None:
        """What the leader does, until cancelled."""
        # An earlier leader may have seen more than this process: list afresh before counting.
        if self._groups and self._watches.pods.version:
            self._watches.pods.list_again()
        await self.wait_synced()
        self._leading = True
        try:
            for budget in self.budgets.store:
                self.recounts.add(key_of(budget))
            async with asyncio.TaskGroup() as group:
                for _ in range(_WORKERS):
                    group.create_task(work(self.recounts, self._reconcile))
                if self._groups:
                    for namespace in self._watches.namespaces.store:
                        self.doors.add(namespace.metadata.name)
                    group.create_task(work(self.doors, self.door_namespaces.reconcile))
                if self._disruption:
                    self._look_for_overlaps()
                    self.stale_targets.mark_all()
                    group.create_task(work(self.targets, self.stale_targets.reconcile))
        finally:
            self._leading = False

    def _mark(self, key: Key) -> None:
        if self._leading:
            self.recounts.add_after(key, GATHER - asyncio.get_running_loop().time() % GATHER)

    async def _reconcile(self, key: Key) -> None:
        entry = self.index.entries.get(key)
        budget = self.budgets.store.get(*key)
        if self._groups and budget is not None and counts_pods(budget):
            await self.give_back.reconcile(budget)
        if entry is None:
            return
        in_groups = isinstance(entry.tally, GroupCounts)
        if in_groups and (delay := self.pauses.wait(key)):
            self.recounts.add_after(key, delay)
            return
        if in_groups and not self._groups:
            await self.sources.wait_synced()  # they are followed only since a budget needs them
        self.reconciliations["group" if in_groups else "pod"] += 1
        if in_groups:
            await self.group_recount.reconcile(key)
        else:
            await self.disruption.reconcile(key)

    def _is_sole_writer(self, budget: PodDisruptionBudget) -> bool:
        """Whether only this process may write its status."""
        entry = self.index.entries.get(key_of(budget))
        counts = entry is not None and isinstance(entry.tally, PodCounts)
        return self._leading and self._is_alone and counts

    def _budget_changed(
        self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
    ) -> None:
        if new is None and old is not None:
            self.disruption_events.forget(key_of(old))
            self.denied.pop(key_of(old), None)
            self.pauses.forget(key_of(old))
        if new is not None and asks_by_field(new):
            self._needs_sources.set()
        self._look_at_evictions(old, new)
        self.other_writers.budget_changed(old, new)
        if self._leading and self._groups and new is not None and is_left_over(new):
            self.recounts.add(key_of(new))

        if (
            self._leading
            and self._groups
            and (old is None or new is None or _scope_differs(old, new))
        ):
            self.doors.add((new or old).metadata.namespace)  # type: ignore[union-attr]

    def _look_at_evictions(
        self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
    ) -> None:
        """An eviction that is stored has had its turn, whichever process was asked about it."""
        if old is None or new is None or counts_pods(new):
            return
        before, after = old.status.disrupted_pods, new.status.disrupted_pods
        if before == after or before.items() >= after.items():
            return
        if self._leading:
            self.pauses.evicted(key_of(new))
        pod = self.turns.turn_of(key_of(new))
        if pod in after and before.get(pod) != after[pod]:
            self.turns.end(key_of(new), pod)

    def _decided(self, budget: PodDisruptionBudget, verdict: Verdict) -> None:
        mode = enforcement_of(budget.metadata.annotations)
        if not verdict.allowed and mode is Enforcement.ENFORCE:
            self.denied.setdefault(key_of(budget), Counter())[verdict.reason] += 1
        self._observe(budget, verdict, mode)

    def _has_groups(self, namespace: str) -> bool:
        return any(entry.key[0] == namespace for entry, _ in counting_groups(self.index))

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is None or not (self._leading and self._groups):
            return
        if old is None or old.metadata.labels != new.metadata.labels:
            self.doors.add(new.metadata.name)

    def _pod_changed(self, _old: Pod | None, new: Pod | None) -> None:
        if self._leading and new is not None:
            self.stale_targets.mark(new)

    def _look_for_overlaps(self) -> None:
        """Those that began before this process led."""
        for pod in self._watches.pods.store:
            keys = self.index.budgets_of(pod.metadata.uid)
            if len(keys) > 1:
                self._overlap(pod, keys)

    def _overlap(self, pod: Pod, budgets: tuple[Key, ...]) -> None:
        if self._leading:
            self.disruption_events.several_budgets(pod, [name for _, name in budgets])


def _scope_differs(old: PodDisruptionBudget, new: PodDisruptionBudget) -> bool:
    return counts_pods(old) != counts_pods(new)
