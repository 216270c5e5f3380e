"""The admission of PodDisruptionBudgets that count groups: it names the settings that are bad."""

import msgspec

from intact.budget.pdb.group_settings import check_settings
from intact.budget.pdb.scope import counts_pods
from intact.kube.resources import PDBS
from intact.model.admission import AdmissionResponse, read_request
from intact.model.pdb import PodDisruptionBudget
from intact.operator.webhook.responses import ALLOWED, invalid

_BUDGET = msgspec.json.Decoder(PodDisruptionBudget)


async def review(raw: msgspec.Raw) -> AdmissionResponse:
    """Answer one AdmissionReview."""
    request = read_request(raw)
    budget = _BUDGET.decode(request.object)
    if counts_pods(budget):
        return ALLOWED
    if errors := check_settings(budget):
        return invalid(PDBS, request.name or budget.metadata.name, errors)
    return ALLOWED
