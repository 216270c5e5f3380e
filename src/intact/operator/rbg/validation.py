"""The admission of RoleBasedGroups: bad ones are refused with their fields."""

import msgspec

from intact.kube.resources import RBGS
from intact.model.admission import NULL, AdmissionRequest, AdmissionResponse
from intact.model.rbg import RoleBasedGroup
from intact.operator.webhook.responses import invalid
from intact.rollout.validation import validate

_REQUEST = msgspec.json.Decoder(AdmissionRequest)
_GROUP = msgspec.json.Decoder(RoleBasedGroup)


async def review(raw: msgspec.Raw) -> AdmissionResponse:
    """Answer one AdmissionReview."""
    request = _REQUEST.decode(raw)
    group = _GROUP.decode(request.object)
    old = None if request.old_object == NULL else _GROUP.decode(request.old_object)
    if errors := validate(group, old):
        return AdmissionResponse(allowed=False, status=invalid(RBGS, request.name, errors))
    return AdmissionResponse(allowed=True)
