"""The admission of PodUnavailableBudgets themselves: a denial names each bad field."""

from collections.abc import Callable

import msgspec

from intact.budget.pub.conditions import unreachable
from intact.budget.pub.validation import validate
from intact.kube.resources import PUBS
from intact.kube.store import Store
from intact.model.admission import NULL, AdmissionResponse, read_request
from intact.model.pub import PodUnavailableBudget
from intact.operator.pub.index import need_of
from intact.operator.pub.targets import Targets
from intact.operator.webhook.responses import invalid

_BUDGET = msgspec.json.Decoder(PodUnavailableBudget)


class PubValidation:
    def __init__(
        self,
        budgets: Store[PodUnavailableBudget],
        targets: Targets,
        largest_group: Callable[[PodUnavailableBudget, str], int],
    ) -> None:
        """The store has an index `namespace`. `largest_group` returns how many pods the largest
        group of a budget of a namespace has."""
        self._budgets = budgets
        self._targets = targets
        self._largest_group = largest_group

    async def review(self, raw: msgspec.Raw) -> AdmissionResponse:
        """Answer one AdmissionReview."""
        request = read_request(raw)
        budget = _BUDGET.decode(request.object)
        old = None if request.old_object == NULL else _BUDGET.decode(request.old_object)
        others = [
            other
            for other in self._budgets.by_index("namespace", request.namespace)
            if other.metadata.name != request.name
        ]
        total = await self._targets.total(budget.spec, request.namespace)
        verdict = validate(budget, others, old, total)
        if verdict.errors:
            return invalid(PUBS, request.name, verdict.errors)
        warnings = verdict.warnings + self._unreachable(budget, request.namespace)
        if old is None and budget.spec.target_ref is not None:
            warnings = warnings + await self._targets.warnings(budget.spec.target_ref)
        return AdmissionResponse(allowed=True, warnings=warnings)

    def _unreachable(self, budget: PodUnavailableBudget, namespace: str) -> list[str]:
        """A warning if no group that is there has as many pods as it needs."""
        need = need_of(budget.spec)
        largest = self._largest_group(budget, namespace) if need is not None else 0
        return [unreachable(need, largest)] if need is not None and 0 < largest < need else []
