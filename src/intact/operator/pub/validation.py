"""The admission of PodUnavailableBudgets themselves: a denial names each bad field."""

import msgspec

from intact.budget.pub.validation import validate
from intact.kube.resources import PUBS
from intact.kube.store import Store
from intact.model.admission import NULL, AdmissionResponse, read_request
from intact.model.pub import PodUnavailableBudget
from intact.operator.pub.targets import Targets
from intact.operator.webhook.responses import invalid

_BUDGET = msgspec.json.Decoder(PodUnavailableBudget)


class PubValidation:
    def __init__(self, budgets: Store[PodUnavailableBudget], targets: Targets) -> None:
        """The store has an index `namespace`."""
        self._budgets = budgets
        self._targets = targets

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
        warnings = verdict.warnings
        if old is None and budget.spec.target_ref is not None:
            warnings = warnings + await self._targets.warnings(budget.spec.target_ref)
        return AdmissionResponse(allowed=True, warnings=warnings)
