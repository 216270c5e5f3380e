"""The admission of PodUnavailableBudgets themselves: a denial names each bad field.

A new budget is compared with the budgets that the API has, not with those of a store: the store may
not have seen the last one come or go. Two that are created at the same moment may both pass; their
condition `Overlapping` then says so.
"""

from collections.abc import Callable

import msgspec

from intact.budget.pub.conditions import holds_nothing_in, unreachable
from intact.budget.pub.validation import validate
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.resources import PUBS
from intact.kube.store import Store
from intact.model.admission import NULL, AdmissionRequest, AdmissionResponse, read_request
from intact.model.event import ObjectReference
from intact.model.pub import PodUnavailableBudget, salvage
from intact.operator.pub.index import need_of
from intact.operator.pub.targets import Targets
from intact.operator.webhook.audit import Decision, Finding, Reason, annotated
from intact.operator.webhook.responses import invalid, undecided

_BUDGET = msgspec.json.Decoder(PodUnavailableBudget)


class PubValidation:
    def __init__(
        self,
        client: Client,
        budgets: Store[PodUnavailableBudget],
        targets: Targets,
        largest_group: Callable[[PodUnavailableBudget, str], int],
        is_selected: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """The store has an index `namespace`. `largest_group` returns how many pods the largest
        group of a budget of a namespace has; `is_selected`, whether budgets hold pods there."""
        self._client = client
        self._budgets = budgets
        self._targets = targets
        self._largest_group = largest_group
        self._is_selected = is_selected

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        budget = _read(request.object)
        old = None if request.old_object == NULL else _read(request.old_object)
        try:
            others = await self._others(request, new=old is None)
        except KubeError as error:
            return undecided(f"Intact cannot list the budgets of this namespace: {error}")
        total = await self._targets.total(budget.spec, request.namespace)
        verdict = validate(budget, others, old, total)
        if verdict.errors:
            reference = ObjectReference(
                kind=PUBS.kind, namespace=request.namespace, name=request.name
            )
            found = Finding(reference, Decision.DENIED, Reason.INVALID)
            return annotated(invalid(PUBS, request.name, verdict.errors), [found])
        warnings = verdict.warnings + self._unreachable(budget, request.namespace)
        if not self._is_selected(request.namespace):
            warnings = [holds_nothing_in(request.namespace), *warnings]
        if old is None and budget.spec.target_ref is not None:
            warnings = warnings + await self._targets.warnings(budget.spec.target_ref)
        return AdmissionResponse(allowed=True, warnings=warnings)

    def _unreachable(self, budget: PodUnavailableBudget, namespace: str) -> list[str]:
        """A warning if no group that is there has as many pods as it needs."""
        need = need_of(budget.spec)
        largest = self._largest_group(budget, namespace) if need is not None else 0
        return [unreachable(need, largest)] if need is not None and 0 < largest < need else []

    async def _others(self, request: AdmissionRequest, *, new: bool) -> list[PodUnavailableBudget]:
        found = self._budgets.by_index("namespace", request.namespace)
        if new:
            pages = self._client.pages(PUBS, request.namespace)
            found = [budget async for page in pages for budget in page.items]
        return [other for other in found if other.metadata.name != request.name]


def _read(raw: msgspec.Raw) -> PodUnavailableBudget:
    try:
        return _BUDGET.decode(raw)
    except msgspec.ValidationError:
        return salvage(raw)
