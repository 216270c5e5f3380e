"""The gate of PodDisruptionBudgets that count groups: the admission of their status.

Only writes to budgets with the label reach it (see the registrations), and those with the field of
KEP-5682 where the API server does not decide by itself. It asks the API server only
once, who Intact is: pods and definitions come from stores, the ledger from the budget that is being
written.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import msgspec

from intact.budget.enforcement import enforcement_of
from intact.budget.pdb.annotations import annotations_of, read_ledger
from intact.budget.pdb.disrupted_pods import recorded_uids, stands_for
from intact.budget.pdb.group_conditions import undefined_text
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_decision import (
    Reason,
    Subject,
    Verdict,
    as_the_server,
    decide,
    evicted_names,
    overrule,
    problem_of,
    still_processed,
)
from intact.budget.pdb.group_recount import is_current, is_enforced
from intact.budget.pdb.group_settings import rules_of
from intact.budget.pdb.ledger_repair import repair
from intact.budget.pdb.pod_counts import is_healthy
from intact.budget.pdb.scope import asks_by_field
from intact.kube.events import reference_to
from intact.kube.own_user import OwnUser
from intact.kube.reflector import Reflector
from intact.kube.resources import PDBS, PODS
from intact.kube.store import Key, key_of
from intact.model.admission import AdmissionRequest, AdmissionResponse, read_request
from intact.model.base import View
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.model.times import parse_time, timestamp
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.kep_fields import KepFields
from intact.operator.pdb.status import status_fields
from intact.operator.pdb.status_writer import GROUPS_MANAGER
from intact.operator.pdb.turns import Turns
from intact.operator.pdb.undone import mapped, undone
from intact.operator.webhook import probe
from intact.operator.webhook.audit import Finding, annotated, decision_of
from intact.operator.webhook.denials import Denial, Denials
from intact.operator.webhook.responses import ALLOWED, PROBED, Operations, denied, patched

API_SERVER = "system:apiserver"
"""The user as whom the API server stores an eviction."""
_CATCH_UP = 2.0
"""Seconds for which the gate waits for a store that is behind, before it denies."""
_PAUSE = 0.02

_CARRIED = 4
"""Evictions of one budget that the gate brings forward at once. More would only get into each
other's way: those wait, as the API server does without us."""
_CARRYING = 0.5
"""Seconds after which one of them counts as ended."""

Observe = Callable[[PodDisruptionBudget, Verdict], None]
"""Called with each decision."""


class PdbStatusGate:
    def __init__(
        self,
        index: PdbIndex,
        pods: Reflector[Pod],
        own_user: OwnUser,
        turns: Turns,
        denials: Denials,
        fields: KepFields,
        *,
        now: Callable[[], datetime],
        is_doubtful: Callable[[], bool],
        observe: Observe,
    ) -> None:
        self._index = index
        self._pods = pods
        self._own_user = own_user
        self._turns = turns
        self._denials = denials
        self._fields = fields
        self._now = now
        self._is_doubtful = is_doubtful
        self._observe = observe
        self._carried: dict[Key, dict[str, float]] = {}

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview of a status that is being written."""
        answer = await self._judge(read_request(raw))
        return answer if answer.audit_annotations else annotated(answer)

    async def _judge(self, request: AdmissionRequest) -> AdmissionResponse:
        manager = _OPTIONS.decode(request.options).field_manager
        if manager == probe.NAME:
            return PROBED
        if manager == GROUPS_MANAGER and await self._is_own(request):
            return ALLOWED
        old, new = _BUDGET.decode(request.old_object), _BUDGET.decode(request.object)
        if await self.leaves_alone(old):
            return ALLOWED
        is_late = old.metadata.resource_version != new.metadata.resource_version
        if request.user_info.username != API_SERVER:
            # The API server itself refuses a conflict.
            return ALLOWED if is_late else patched(undone(request))
        names = evicted_names(old.status, new.status)
        is_carried = _is_new(old, new, names) and self._knows(old)
        if is_late and not (is_carried and self._may_carry(old, names[0])):
            return ALLOWED  # the API server finds the conflict, waits, and asks again
        verdict = await self._decide(old, new, names)
        if not is_enforced(old):
            answer = self._overruled(request, old, new, names, verdict, is_late=is_late)
        else:
            answer = self._enforced(request, old, new, names, verdict, is_late=is_late)
        return annotated(answer, [self.finding(old, verdict, names)])

    def _enforced(
        self,
        request: AdmissionRequest,
        old: PodDisruptionBudget,
        new: PodDisruptionBudget,
        names: list[str],
        verdict: Verdict,
        *,
        is_late: bool,
    ) -> AdmissionResponse:
        if self._knows(old):
            self._observe(old, verdict)
        if not verdict.allowed:
            for name in names:
                self._turns.end(key_of(old), name)
            self._tell(old, names, verdict)
            return denied(verdict.message)
        return patched(
            _brought_forward(request, old, names, verdict, self._now())
            if is_late
            else _changes(new, verdict)
        )

    def finding(self, budget: PodDisruptionBudget, verdict: Verdict, names: list[str]) -> Finding:
        """What a verdict about these pods says for the audit log."""
        mode = enforcement_of(budget.metadata.annotations)
        return Finding(
            reference_to(PDBS, budget.metadata),
            decision_of(allowed=verdict.allowed, mode=mode),
            verdict.reason,
            [self._group_of(budget, name) for name in names],
        )

    def _group_of(self, budget: PodDisruptionBudget, name: str) -> str:
        """Empty if this process does not know it."""
        entry = self._index.entries.get(key_of(budget))
        pod = self._pods.store.get(budget.metadata.namespace, name)
        if entry is None or pod is None or not isinstance(entry.tally, GroupCounts):
            return ""
        return entry.tally.group_of(pod.metadata.uid) or ""

    async def leaves_alone(self, budget: PodDisruptionBudget) -> bool:
        """Whether the API server itself decides in groups."""
        return asks_by_field(budget) and await self._fields.known(key_of(budget))

    def _overruled(
        self,
        request: AdmissionRequest,
        old: PodDisruptionBudget,
        new: PodDisruptionBudget,
        names: list[str],
        verdict: Verdict,
        *,
        is_late: bool,
    ) -> AdmissionResponse:
        """The answer where denials are not enforced: the door has told of them. What is not even
        known well enough to be denied is stored as the API server writes it."""
        if verdict.allowed and self._knows(old):
            self._observe(old, verdict)
        if verdict.status is None:
            return ALLOWED
        return patched(
            _brought_forward(request, old, names, verdict, self._now())
            if is_late
            else _changes(new, verdict)
        )

    def _knows(self, budget: PodDisruptionBudget) -> bool:
        """Whether this process has seen the budget. A review may show any: nothing is remembered or
        told of one that is not there."""
        entry = self._index.entries.get(key_of(budget))
        return entry is not None and entry.budget.metadata.uid == budget.metadata.uid

    async def _is_own(self, request: AdmissionRequest) -> bool:
        """Anyone may claim a field manager; all replicas of Intact are one user."""
        return request.user_info.username == await self._own_user.name()

    def _may_carry(self, budget: PodDisruptionBudget, name: str) -> bool:
        """Whether this eviction may be brought forward, beside others that are."""
        now = asyncio.get_running_loop().time()
        stored = budget.status.disrupted_pods
        before = self._carried.get(key_of(budget), {})
        carried = {
            each: until for each, until in before.items() if until > now and each not in stored
        }
        if name not in carried and len(carried) >= _CARRIED:
            return False
        self._carried[key_of(budget)] = carried | {name: now + _CARRYING}
        return True

    def _tell(self, budget: PodDisruptionBudget, names: list[str], verdict: Verdict) -> None:
        for name in names if self._knows(budget) else ():
            if pod := self._pods.store.get(budget.metadata.namespace, name):
                self._denials.tell(
                    Denial(
                        budget=reference_to(PDBS, budget.metadata),
                        pod=reference_to(PODS, pod.metadata),
                        reason=verdict.reason,
                        message=verdict.message,
                        operation="EVICT",
                        user=API_SERVER,
                        group=self._group_of(budget, name),
                        node=pod.spec.node_name,
                    )
                )

    def foresee(self, budget: PodDisruptionBudget, pod: Pod) -> Verdict:
        """What would come of evicting this pod now, by what this process has seen so far."""
        ledger = read_ledger(budget)
        if problem := self._problem(budget, ledger):
            return problem
        assert ledger is not None
        name = pod.metadata.name
        if missing := self._missing(budget, ledger, [name]):
            return still_processed(budget, missing)
        verdict = self._decide_one(budget, ledger, self._with(budget, name), name)
        return as_the_server(budget, pod, verdict)

    async def preview(self, budget: PodDisruptionBudget, pod: Pod) -> Verdict:
        """The same, once this process has seen enough to tell."""
        name = pod.metadata.name
        verdict = await self._decide(budget, self._with(budget, name), [name])
        return as_the_server(budget, pod, verdict)

    def _with(self, budget: PodDisruptionBudget, name: str) -> PodDisruptionBudget:
        """The budget as the API server would store it if it let this pod go."""
        disrupted = budget.status.disrupted_pods | {name: timestamp(self._now())}
        status = msgspec.structs.replace(budget.status, disrupted_pods=disrupted)
        return msgspec.structs.replace(budget, status=status)

    def _problem(self, budget: PodDisruptionBudget, ledger: GroupLedger | None) -> Verdict | None:
        """Why no pod at all may go."""
        if problem := problem_of(budget, ledger):
            return problem
        if repair(budget, self._now()).problems:
            why = "its ledger states what cannot be, and is repaired first"
            return still_processed(budget, why)
        return None

    async def _decide(
        self, old: PodDisruptionBudget, new: PodDisruptionBudget, names: list[str]
    ) -> Verdict:
        ledger = read_ledger(old)
        if problem := self._problem(old, ledger):
            return problem
        assert ledger is not None
        if not names:
            return still_processed(old, "the write of the API server names no pod")
        if missing := await self._catch_up(old, ledger, names):
            return still_processed(old, missing)
        verdicts = [self._decide_one(old, ledger, new, name) for name in names]
        denials = [each for each in verdicts if not each.allowed]
        if denials:
            return denials[0]
        if len(verdicts) > 1 and any(each.reason is not Reason.RECORDED for each in verdicts):
            return still_processed(old, "the write of the API server names several pods")
        return verdicts[0]

    async def _catch_up(
        self, old: PodDisruptionBudget, ledger: GroupLedger, names: list[str]
    ) -> str:
        """What this process has still not seen when the time is up; empty if it has seen all."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _CATCH_UP
        while missing := self._missing(old, ledger, names):
            if loop.time() >= end:
                return missing
            await asyncio.sleep(_PAUSE)
        return ""

    def _missing(self, old: PodDisruptionBudget, ledger: GroupLedger, names: list[str]) -> str:
        meta = old.metadata
        entry = self._index.entries.get((meta.namespace, meta.name))
        if entry is None or rules_of(entry.budget) != rules_of(old):
            return "this gate has not seen its present rules yet"
        if self._is_doubtful():
            return "this gate has lost its watches for the moment"
        if not is_current(ledger, self._pods.version):
            return "this gate has not seen all its pods yet"
        for name in names:
            pod = self._pods.store.get(meta.namespace, name)
            if pod is None or pod.metadata.uid not in entry.members:
                return f"this gate has not seen pod {name} yet"
            if is_terminating(pod):
                # The API server evicts a terminating pod without asking. So it means another pod of
                # this name, or has not seen the deletion.
                return f"pod {name} is terminating already"
        return ""

    def _decide_one(
        self, old: PodDisruptionBudget, ledger: GroupLedger, new: PodDisruptionBudget, name: str
    ) -> Verdict:
        namespace = old.metadata.namespace
        entry = self._index.entries[namespace, old.metadata.name]
        counts = entry.tally
        assert isinstance(counts, GroupCounts)

        def find(wanted: str) -> Pod | None:
            return self._pods.store.get(namespace, wanted)

        pod = find(name)
        assert pod is not None
        disrupted, uid = old.status.disrupted_pods, pod.metadata.uid
        group = counts.group_of(uid)
        subject = Subject(
            name=name,
            uid=uid,
            at=new.status.disrupted_pods[name],
            healthy=is_healthy(pod),
            group=group,
            need=counts.need_of(group) if group is not None else None,
            recorded=name in disrupted and stands_for(pod, disrupted[name], ledger.pods.get(name)),
            version=pod.metadata.resource_version,
        )
        live = counts.without(recorded_uids(disrupted, ledger, find))
        if counts.undefined and not subject.recorded:
            return still_processed(old, undefined_text(counts))
        verdict = decide(old, ledger, subject, live, self._now())
        if verdict.allowed or is_enforced(old):
            return verdict
        return overrule(old, ledger, subject, verdict, self._now())


class _WriteOptions(View):
    field_manager: str = ""


class _Whole(View):
    metadata: msgspec.Raw
    status: msgspec.Raw = msgspec.Raw(b"{}")


_BUDGET = msgspec.json.Decoder(PodDisruptionBudget)
_OPTIONS = msgspec.json.Decoder(_WriteOptions)
_WHOLE = msgspec.json.Decoder(_Whole)


def _changes(new: PodDisruptionBudget, verdict: Verdict) -> Operations:
    """What is stored with an eviction that is allowed."""
    assert verdict.status is not None
    assert verdict.ledger is not None
    fields = status_fields(verdict.status) | {"disruptedPods": verdict.status.disrupted_pods}
    operations: Operations = [
        {"op": "add", "path": f"/status/{field}", "value": value} for field, value in fields.items()
    ]
    return operations + mapped(
        "annotations", new.metadata.annotations, annotations_of(verdict.ledger)
    )


def _is_new(old: PodDisruptionBudget, new: PodDisruptionBudget, names: list[str]) -> bool:
    """Whether it is certain which pod is evicted, though the API server began from an earlier
    version."""
    before, after = old.status.disrupted_pods, new.status.disrupted_pods
    return len(names) == 1 and before.get(names[0]) != after.get(names[0])


def _brought_forward(
    request: AdmissionRequest,
    old: PodDisruptionBudget,
    names: list[str],
    verdict: Verdict,
    now: datetime,
) -> Operations:
    """An eviction that the API server began from an earlier version, on the present one.

    Left alone, it would be a conflict, and the API server would wait for half a second before it
    reads and asks again. The decision is about the present version, which the answer names: the API
    server stores it only if that is still the present one, and otherwise asks again at once.

    The time of the entry is that of this answer, as it would be after the wait: a successor of the
    pod that was created meanwhile may be the one that goes, and the entry must stand for it.
    """
    assert verdict.status is not None
    before = _WHOLE.decode(request.old_object)
    [name] = names
    disrupted = verdict.status.disrupted_pods
    at = max(disrupted[name], timestamp(now), key=parse_time)
    status = msgspec.structs.replace(verdict.status, disrupted_pods={**disrupted, name: at})
    operations: Operations = [
        {"op": "add", "path": "/metadata", "value": before.metadata},
        {"op": "add", "path": "/status", "value": before.status},
    ]
    return operations + _changes(old, replace(verdict, status=status))
