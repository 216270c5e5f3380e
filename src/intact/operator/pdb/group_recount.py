"""The recount of PodDisruptionBudgets that count groups, by the leader.

Each change that is seen costs one write, of status and annotations together; where nothing has
changed, nothing is written.

Where the API server decides by itself, by the field of KEP-5682, there is no gate, and the budget
has no annotations: the counters are fields, and the ledger of the last recount is only remembered.
A new leader expects groups without pods for two minutes more, and nothing else is lost.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from intact.budget.pdb.annotations import annotations_of
from intact.budget.pdb.disrupted_pods import look_again, overdue
from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED, NEED_NOT_REACHED
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_recount import Recounted, is_current, next_check, recount
from intact.budget.pdb.group_settings import REPLICAS, WRITTEN, is_of
from intact.budget.pdb.ledger_repair import Repaired, repair
from intact.budget.pdb.scope import asks_by_field
from intact.kube.client import Client
from intact.kube.queue import Queue
from intact.kube.reflector import Reflector
from intact.kube.store import Key, key_of
from intact.model.group_ledger import GroupLedger, GroupRecord
from intact.model.meta import Condition, OwnerReference, api_group
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_ending
from intact.model.times import parse_time, past_time
from intact.model.versions import Present
from intact.model.workload import Workload
from intact.operator.pdb.events import DisruptionEvents
from intact.operator.pdb.gate_probe import GateProbe
from intact.operator.pdb.group_sources import GroupSources
from intact.operator.pdb.index import PdbEntry, PdbIndex
from intact.operator.pdb.kep_fields import KepFields
from intact.operator.pdb.status_writer import StatusWriter
from intact.operator.watch.freshness import Behind, pods_beyond, versions_now
from intact.operator.watch.kinds import REPLICA_SET
from intact.operator.watch.owners import Workloads

_LOOK_AGAIN = 1.0
"""Seconds after which a budget is counted again if the stores were doubtful."""
_MARGIN = 0.01
"""Seconds by which a timer is set late, so that its moment has surely come."""
STARTING = timedelta(seconds=10)
"""How long groups may be without the pods that they need before an event says so: they may be
starting."""


class GroupRecount:
    def __init__(
        self,
        client: Client,
        index: PdbIndex,
        sources: GroupSources,
        workloads: Workloads,
        pods: Reflector[Pod],
        writer: StatusWriter,
        events: DisruptionEvents,
        queue: Queue[Key],
        fields: KepFields,
        *,
        now: Callable[[], datetime],
        is_doubtful: Callable[[], bool],
        report_no_pods: bool,
    ) -> None:
        """`report_no_pods` says whether a budget without pods gets an event: where
        kube-controller-manager runs its own disruption controller, that one reports it."""
        self.misconfigured = 0
        """How often a budget was found to be misconfigured."""
        self._client = client
        self._index = index
        self._sources = sources
        self._workloads = workloads
        self._pods = pods
        self._writer = writer
        self._events = events
        self._queue = queue
        self._now = now
        self._is_doubtful = is_doubtful
        self._report_no_pods = report_no_pods
        self._probe = GateProbe(client, now=now)
        self._fields = fields
        self._remembered: dict[Key, GroupLedger] = {}
        """Of budgets that the API server decides on."""

    async def reconcile(self, key: Key) -> None:
        async def attempt() -> None:
            entry = self._index.entries.get(key)
            if entry is None or not isinstance(entry.tally, GroupCounts):
                self._remembered.pop(key, None)
                return
            native = asks_by_field(entry.budget) and await self._fields.known(key)
            if native or await self._probe.is_gated(key):
                await self._recount(entry, entry.tally, native=native)
            else:
                self._queue.add_after(key, self._probe.ask_again_after())

        await self._writer.retry_conflicts(key, attempt)

    async def _recount(self, entry: PdbEntry, counts: GroupCounts, *, native: bool) -> None:
        namespace = entry.key[0]

        def find(name: str) -> Pod | None:
            return self._pods.store.get(namespace, name)

        # A pod that seems not to have gone in time may have gone: the store can be behind by more
        # than that time.
        asked_at, asked = self._now(), entry.budget
        stated = self._stated(entry, asked_at, native=native)
        late = overdue(stated.disrupted, stated.ledger, find, counts.evicted, asked_at)
        versions = await versions_now(self._client, late)
        present = None
        if not is_current(stated.ledger, self._pods.version):
            present = await pods_beyond(
                self._client, namespace, lambda version: is_current(stated.ledger, version)
            )
        # From here to the write nothing is awaited: one moment of the store is counted.
        if self._is_doubtful():
            self._queue.add_after(entry.key, _LOOK_AGAIN)
            return
        budget, now = entry.budget, self._now()
        stated = self._stated(entry, now, present if budget is asked else None, native=native)
        before = stated.ledger
        if not is_current(before, self._pods.version):
            raise Behind(
                f"the pods are known up to version {self._pods.version}; an earlier recount or a "
                "gate has seen a newer one: waiting for the watch"
            )
        # The counts may have seen pods of a history that the server has gone back from.
        counts.version = min(counts.version, int(self._pods.version))
        standing = look_again(
            stated.disrupted,
            before,
            find,
            counts.evicted,
            now,
            lambda pod: versions.get(pod.metadata.uid) == pod.metadata.resource_version,
        )
        definitions = self._sources.of(namespace)
        found = recount(
            budget, before, counts, definitions, standing, now, self._wants, native=native
        )
        # The only place where the counts forget anything.
        counts.forget(found.forgotten_groups, found.forgotten_evictions)
        # What became overdue since then was not asked for: its time is still to come.
        if moment := next_check(found.status, found.ledger, asked_at):
            wait = max(0.0, (moment - now).total_seconds())
            self._queue.add_after(entry.key, wait + _MARGIN)
        if len(versions) > len(standing.overdue):  # the store is behind
            self._queue.add_after(entry.key, _LOOK_AGAIN)
        if self._report_no_pods:
            self._events.counted(budget, pods=counts.pods, unmanaged=0)
        annotations: Mapping[str, str | None] = annotations_of(found.ledger)
        if native:
            self._remembered[entry.key] = found.ledger
            annotations, before = dict.fromkeys(WRITTEN), found.ledger
        if stated.problems or _differs(budget, before, found, annotations):
            await self._writer.write(budget, found.status, annotations)
            self._events.ledger_repaired(budget, stated.problems)
            self._note_misconfigured(budget, found)
        self._tell(budget, found.status, now)
        for pod in standing.overdue:
            self._events.not_deleted(budget, pod)

    def _stated(
        self, entry: PdbEntry, now: datetime, present: Present | None = None, *, native: bool
    ) -> Repaired:
        """The ledger and the evictions that the recount begins from."""
        budget = entry.budget
        stated = repair(budget, now, present)
        if not native:
            return stated
        ledger = self._remembered.get(entry.key, GroupLedger())
        if not is_of(budget, ledger) or not is_current(ledger, self._pods.version):
            ledger = GroupLedger()
        pods = {name: GroupRecord(uid=each.uid) for name, each in entry.evicted.items()}
        return Repaired(replace(ledger, pods=pods), stated.disrupted)

    def _wants(self, controller: OwnerReference) -> bool:
        """Whether the controller of a group exists and wants pods, or its Deployment wants more
        than it has: it replaces ReplicaSets. A controller whose kind is not followed is taken to
        want pods."""
        kind = (api_group(controller.api_version), controller.kind)
        if kind == REPLICA_SET:
            above = self._workloads.above_replica_set(controller.uid)
            if above is not None and self._lacks_pods(above):
                return True
        found = self._workloads.by_uid(controller.uid)
        if found is None:
            return kind not in self._workloads.reflectors
        workload = found[1]
        return not is_ending(workload) and workload.spec.replicas != 0

    def _lacks_pods(self, above: Workload) -> bool:
        if is_ending(above):
            return False
        wanted = 1 if above.spec.replicas is None else above.spec.replicas
        made = self._workloads.owned_by(above.metadata.uid)
        return wanted > sum(self._pods.store.count("owner", one.metadata.uid) for one in made)

    def _tell(self, budget: PodDisruptionBudget, status: PdbStatus, now: datetime) -> None:
        """Record an event for what is wrong with the budget."""
        problem = _problem(status)
        if problem is not None and problem.reason == NEED_NOT_REACHED:
            began = parse_time(past_time(problem.last_transition_time or "", now))
            wait = began + STARTING - now
            if wait > timedelta():
                self._queue.add_after(key_of(budget), wait.total_seconds() + _MARGIN)
                return
        self._events.configured(budget, problem)

    def _note_misconfigured(self, budget: PodDisruptionBudget, found: Recounted) -> None:
        before, after = _problem(budget.status), _problem(found.status)
        if after is not None and (before is None or before.reason != after.reason):
            self.misconfigured += 1


def _differs(
    budget: PodDisruptionBudget,
    before: GroupLedger,
    found: Recounted,
    annotations: Mapping[str, str | None],
) -> bool:
    """Whether a write says anything new. That newer pods were looked at does not."""
    looked = replace(found.ledger, seen=before.seen)
    return (
        budget.status != found.status
        or before != looked
        or budget.metadata.annotations.get(REPLICAS) != annotations[REPLICAS]
    )


def _problem(status: PdbStatus) -> Condition | None:
    """The condition, if it is more than a warning."""
    for each in status.conditions:
        if each.type == BUDGET_CONFIGURED and each.status == "False":
            return each
    return None
