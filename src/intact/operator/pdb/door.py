"""The door: the admission of evictions where a PodDisruptionBudget counts groups.

The API server looks at disruptionsAllowed before it stores an eviction, and the gate is asked when
it stores. So a spent budget would be refused in the API server's own words, which know no groups,
and a dry run would be refused by nobody. The door says beforehand what the gate would say.

It spends nothing, and the gate decides again: while Intact is down, the API server goes on without
the door.
"""

import asyncio
from collections.abc import Callable

import msgspec

from intact.budget.enforcement import Enforcement, enforcement_of
from intact.budget.native_eviction import counts_for
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_decision import Verdict
from intact.budget.pdb.group_recount import is_enforced
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.events import reference_to
from intact.kube.resources import PDBS, PODS
from intact.kube.store import Key, Store
from intact.model.admission import (
    AdmissionRequest,
    AdmissionResponse,
    read_eviction,
    read_request,
)
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.operator.pdb.index import PdbIndex, selector_of
from intact.operator.pdb.status_gate import PdbStatusGate
from intact.operator.pdb.turns import Turns
from intact.operator.webhook.audit import annotated
from intact.operator.webhook.denials import Denial, Denials
from intact.operator.webhook.responses import ALLOWED, denied

Observe = Callable[[PodDisruptionBudget, Verdict], None]


class Door:
    def __init__(
        self,
        client: Client,
        index: PdbIndex,
        budgets: Store[PodDisruptionBudget],
        pods: Store[Pod],
        gate: PdbStatusGate,
        turns: Turns,
        denials: Denials,
        observe: Observe,
    ) -> None:
        """`budgets` has the index `namespace`."""
        self._client = client
        self._index = index
        self._budgets = budgets
        self._pods = pods
        self._gate = gate
        self._turns = turns
        self._denials = denials
        self._observe = observe
        self._readings: dict[Key, asyncio.Task[PodDisruptionBudget]] = {}

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview of an eviction."""
        answer = await self._judge(read_request(raw))
        return answer if answer.audit_annotations else annotated(answer)

    async def _judge(self, request: AdmissionRequest) -> AdmissionResponse:
        pod = self._pods.get(request.namespace, request.name)
        if pod is None or not counts_for(pod):
            return ALLOWED  # the API server asks no budget about it
        key = self._budget_of(pod)
        if key is None or await self._gate.leaves_alone(self._index.entries[key].budget):
            return ALLOWED
        dry_run = request.dry_run or read_eviction(request.object).is_dry_run
        found = await self._foresee(key, pod)
        if _is_denied(found):
            return self._answer(request, pod, found, dry_run=dry_run)
        if not dry_run and await self._turns.wait(key, request.name):
            found = await self._foresee(key, pod)
            if _is_denied(found):
                self._turns.end(key, request.name)
        return self._answer(request, pod, found, dry_run=dry_run)

    async def refusal(self, pod: Pod) -> tuple[PodDisruptionBudget, str] | None:
        """Which budget would refuse an eviction of the pod now, and why; None if none would."""
        key = self._budget_of(pod) if counts_for(pod) else None
        if key is None or await self._gate.leaves_alone(self._index.entries[key].budget):
            return None
        found = await self._foresee(key, pod)
        return (found[0], found[1].message) if found is not None and _is_denied(found) else None

    def _budget_of(self, pod: Pod) -> Key | None:
        """The budget that counts groups and covers the pod. None as well if another budget covers
        it too: the API server refuses that by itself."""
        counting = [
            key
            for key in self._index.budgets_of(pod.metadata.uid)
            if isinstance(self._index.entries[key].tally, GroupCounts)
        ]
        if len(counting) != 1:
            return None
        for other in self._budgets.by_index("namespace", pod.metadata.namespace):
            if other.metadata.name != counting[0][1] and _selects(other, pod):
                return None
        return counting[0]

    async def _foresee(self, key: Key, pod: Pod) -> tuple[PodDisruptionBudget, Verdict] | None:
        """What the gate would say now; None if that cannot be known. A denial is checked against
        the budget as it is stored, because the watch may be behind. So is everything where denials
        are not enforced: only the door tells of them."""
        entry = self._index.entries.get(key)
        if entry is None:
            return None
        verdict = self._gate.foresee(entry.budget, pod)
        if verdict.allowed and is_enforced(entry.budget):
            return entry.budget, verdict
        try:
            budget = await self._read(key)
        except KubeError:
            return None  # there is none any more, or nobody knows: the gate decides
        return budget, await self._gate.preview(budget, pod)

    async def _read(self, key: Key) -> PodDisruptionBudget:
        """Evictions that are denied together read the budget once."""
        reading = self._readings.get(key)
        if reading is None:
            namespace, name = key
            reading = asyncio.create_task(self._client.get(PDBS, name, namespace))
            self._readings[key] = reading
            reading.add_done_callback(lambda _: self._readings.pop(key, None))
        return await asyncio.shield(reading)

    def _answer(
        self,
        request: AdmissionRequest,
        pod: Pod,
        found: tuple[PodDisruptionBudget, Verdict] | None,
        *,
        dry_run: bool,
    ) -> AdmissionResponse:
        if found is None:
            return ALLOWED
        budget, verdict = found
        mode = enforcement_of(budget.metadata.annotations)
        if dry_run or not verdict.allowed:
            # What goes on from here is counted at the gate.
            self._observe(budget, verdict)
        finding = self._gate.finding(budget, verdict, [pod.metadata.name])
        if verdict.allowed:
            return annotated(ALLOWED, [finding])
        self._denials.tell(
            Denial(
                budget=reference_to(PDBS, budget.metadata),
                pod=reference_to(PODS, pod.metadata),
                reason=verdict.reason,
                message=verdict.message,
                operation="EVICT",
                user=request.user_info.username,
                group=", ".join(finding.groups),
                node=pod.spec.node_name,
                mode=mode,
                dry_run=dry_run,
            )
        )
        return annotated(_enforced(verdict.message, mode), [finding])


def _enforced(message: str, mode: Enforcement) -> AdmissionResponse:
    """What becomes of a denial."""
    if mode is Enforcement.WARN:
        return AdmissionResponse(allowed=True, warnings=[message])
    return denied(message) if mode is Enforcement.ENFORCE else ALLOWED


def _is_denied(found: tuple[PodDisruptionBudget, Verdict] | None) -> bool:
    """Whether the eviction ends at the door."""
    return found is not None and not found[1].allowed and is_enforced(found[0])


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = selector_of(budget)
    return selector is not None and selector.selects(pod.metadata.labels)
