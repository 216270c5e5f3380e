"""The gate of PodDisruptionBudgets that count groups: the admission of their status.

Only writes to budgets with the label reach it (see the registrations). It asks the API server only
once, who Intact is: pods and definitions come from stores, the ledger from the budget that is being
written.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

import msgspec

from intact.budget.pdb.annotations import annotations_of, read_ledger
from intact.budget.pdb.disrupted_pods import recorded_uids, stands_for
from intact.budget.pdb.group_conditions import undefined_text
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_decision import (
    Reason,
    Subject,
    Verdict,
    decide,
    evicted_names,
    problem_of,
    still_processed,
)
from intact.budget.pdb.group_recount import is_current
from intact.budget.pdb.group_settings import rules_of
from intact.budget.pdb.ledger_repair import repair
from intact.budget.pdb.pod_counts import is_healthy
from intact.kube.own_user import OwnUser
from intact.kube.reflector import Reflector
from intact.model.admission import AdmissionRequest, AdmissionResponse, read_request
from intact.model.base import View
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.status import status_fields
from intact.operator.pdb.status_writer import GROUPS_MANAGER
from intact.operator.pdb.undone import mapped, undone
from intact.operator.webhook import probe
from intact.operator.webhook.responses import ALLOWED, PROBED, Operations, denied, patched

log = logging.getLogger(__name__)

API_SERVER = "system:apiserver"
"""The user as whom the API server stores an eviction."""
_CATCH_UP = 2.0
"""Seconds for which the gate waits for a store that is behind, before it denies."""
_PAUSE = 0.02

Observe = Callable[[Verdict], None]


class PdbStatusGate:
    def __init__(
        self,
        index: PdbIndex,
        pods: Reflector[Pod],
        own_user: OwnUser,
        *,
        now: Callable[[], datetime],
        is_doubtful: Callable[[], bool],
        observe: Observe = lambda _verdict: None,
    ) -> None:
        self._index = index
        self._pods = pods
        self._own_user = own_user
        self._now = now
        self._is_doubtful = is_doubtful
        self._observe = observe

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview of a status that is being written."""
        request = read_request(raw)
        manager = _OPTIONS.decode(request.options).field_manager
        if manager == probe.NAME:
            return PROBED
        old, new = _BUDGET.decode(request.old_object), _BUDGET.decode(request.object)
        if old.metadata.resource_version != new.metadata.resource_version:
            return (
                ALLOWED  # a conflict: the API server itself refuses it, or retries and asks again
            )
        if manager == GROUPS_MANAGER and await self._is_own(request):
            return ALLOWED
        if request.user_info.username != API_SERVER:
            return patched(undone(request))
        verdict = await self._decide(old, new)
        self._observe(verdict)
        if not verdict.allowed:
            log.info("%s/%s: %s", request.namespace, request.name, verdict.message)
            return denied(verdict.message)
        return patched(_stored(new, verdict))

    async def _is_own(self, request: AdmissionRequest) -> bool:
        """Anyone may claim a field manager; all replicas of Intact are one user."""
        return request.user_info.username == await self._own_user.name()

    async def _decide(self, old: PodDisruptionBudget, new: PodDisruptionBudget) -> Verdict:
        ledger = read_ledger(old)
        if problem := problem_of(old, ledger):
            return problem
        assert ledger is not None
        if repair(old, self._now()).problems:
            return still_processed(old, "its ledger states what cannot be, and is repaired first")
        names = evicted_names(old.status, new.status)
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
        return decide(old, ledger, subject, live, self._now())


class _WriteOptions(View):
    field_manager: str = ""


_BUDGET = msgspec.json.Decoder(PodDisruptionBudget)
_OPTIONS = msgspec.json.Decoder(_WriteOptions)


def _stored(new: PodDisruptionBudget, verdict: Verdict) -> Operations:
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
