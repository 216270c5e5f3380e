"""Answers to admission reviews, in the form that the API server itself uses."""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from intact.kube.resources import Resource
from intact.model.admission import AdmissionResponse
from intact.model.field_error import FieldError
from intact.model.status import Status, StatusCause, StatusDetails
from intact.operator.webhook import probe
from intact.operator.webhook.audit import Reason, annotated

ALLOWED = AdmissionResponse(allowed=True)
DISRUPTION_BUDGET = "DisruptionBudget"
"""The cause of a budget's denial, as the Eviction API has it."""

Operations = list[dict[str, Any]]
"""Of a JSON patch."""


def denied(message: str, cause: str = DISRUPTION_BUDGET) -> AdmissionResponse:
    """A denial like the Eviction API's: the client may try again."""
    causes = [StatusCause(reason=cause, message=message)]
    status = Status(
        status="Failure",
        code=429,
        reason="TooManyRequests",
        message=message,
        details=StatusDetails(causes=causes),
    )
    return AdmissionResponse(allowed=False, status=status)


PROBED = annotated(denied(probe.MESSAGE, probe.CAUSE), reason=Reason.PROBE)


def not_found(resource: Resource[Any], name: str) -> AdmissionResponse:
    """As the API server says that there is no such object."""
    status = Status(
        status="Failure",
        code=404,
        reason="NotFound",
        message=f'{resource.plural} "{name}" not found',
        details=StatusDetails(name=name, group=resource.group, kind=resource.plural),
    )
    return annotated(AdmissionResponse(allowed=False, status=status), reason=Reason.NOT_FOUND)


def undecided(problem: str) -> AdmissionResponse:
    """A denial that no budget has decided. The client may try again."""
    return annotated(denied(problem), reason=Reason.UNDECIDED)


def patched(operations: Operations) -> AdmissionResponse:
    patch = base64.b64encode(msgspec.json.encode(operations)).decode()
    return AdmissionResponse(allowed=True, patch=patch, patch_type="JSONPatch")


def invalid(resource: Resource[Any], name: str, errors: Sequence[FieldError]) -> AdmissionResponse:
    """A refusal of an object whose fields are invalid."""
    causes = [
        StatusCause(reason="FieldValueInvalid", message=error.body, field=error.path)
        for error in errors
    ]
    text = "; ".join(str(error) for error in errors)
    status = Status(
        status="Failure",
        code=422,
        reason="Invalid",
        message=f'{resource.kind} "{name}" is invalid: {text}',
        details=StatusDetails(name=name, group=resource.group, kind=resource.kind, causes=causes),
    )
    return annotated(AdmissionResponse(allowed=False, status=status), reason=Reason.INVALID)
