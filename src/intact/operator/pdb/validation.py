"""The admission of PodDisruptionBudgets: it refuses bad settings of budgets that count groups,
closes those that stop counting groups, and warns of what a budget's author would not expect."""

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from intact.budget.pdb.expected_groups import expect
from intact.budget.pdb.group_conditions import never_allows, unproven_text
from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_settings import check_settings, read_settings
from intact.budget.pdb.ineffective import ineffective
from intact.budget.pdb.scope import counts_pods
from intact.kube.client import Client
from intact.kube.resources import PDBS, PODS
from intact.kube.store import Store
from intact.model.admission import NULL, AdmissionResponse, read_request
from intact.model.event import ObjectReference
from intact.model.group_ledger import GroupLedger
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.operator.pdb.group_sources import GroupSources
from intact.operator.pdb.index import selector_of
from intact.operator.pdb.leaving import Leaving
from intact.operator.webhook.audit import Decision, Finding, Reason, annotated
from intact.operator.webhook.responses import ALLOWED, invalid

_BUDGET = msgspec.json.Decoder(PodDisruptionBudget)


class PdbValidation:
    def __init__(
        self,
        client: Client,
        pods: Store[Pod],
        sources: GroupSources,
        leaving: Leaving,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._pods = pods
        self._sources = sources
        self._leaving = leaving
        self._now = now

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        budget = _BUDGET.decode(request.object)
        warnings = ineffective(budget)
        if not counts_pods(budget):
            if errors := check_settings(budget):
                name = request.name or budget.metadata.name
                reference = ObjectReference(kind=PDBS.kind, namespace=request.namespace, name=name)
                found = Finding(reference, Decision.DENIED, Reason.INVALID)
                return annotated(invalid(PDBS, name, errors), [found])
            warnings += await self._doubts(budget, request.namespace)
        elif request.old_object != NULL and not request.dry_run:
            old = _BUDGET.decode(request.old_object)
            if denial := await self._leaving.close(old, budget):
                return denial
        return AdmissionResponse(allowed=True, warnings=warnings) if warnings else ALLOWED

    async def _doubts(self, budget: PodDisruptionBudget, namespace: str) -> list[str]:
        """What a budget that counts groups would say of the pods that are there now. The store may
        not have seen them all, so the API server is asked before anything is said."""
        if not self._doubts_of(budget, namespace, self._pods.by_index("namespace", namespace)):
            return []
        pods = await self._client.list(PODS, namespace)
        return self._doubts_of(budget, namespace, pods.items)

    def _doubts_of(
        self, budget: PodDisruptionBudget, namespace: str, pods: Iterable[Pod]
    ) -> list[str]:
        definitions = self._sources.of(namespace)
        counts = GroupCounts(read_settings(budget), definitions)
        if selector := selector_of(budget):
            for pod in pods:
                if selector.selects(pod.metadata.labels):
                    counts.put(pod)
        found = []
        if unproven := counts.unproven(counts.reached):
            found.append(unproven_text(unproven))
        groups = expect(GroupLedger(), counts, definitions, self._now(), lambda _: True)
        if never := never_allows(budget, groups.total):
            found.append(never)
        return found
