"""The admission of RoleBasedGroups: refuses invalid ones, and names the fields."""

import msgspec

from intact.kube.resources import RBGS
from intact.model.admission import NULL, AdmissionResponse, read_request
from intact.model.rbg import RoleBasedGroup
from intact.operator.webhook.responses import ALLOWED, invalid
from intact.rollout.validation import validate

_GROUP = msgspec.json.Decoder(RoleBasedGroup)


async def review(raw: msgspec.Raw) -> AdmissionResponse:
    """Answer one AdmissionReview."""
    request = read_request(raw)
    group = _GROUP.decode(request.object)
    old = None if request.old_object == NULL else _GROUP.decode(request.old_object)
    if errors := validate(group, old):
        return invalid(RBGS, request.name, errors)
    return ALLOWED
