"""Refusing an object for what is wrong with its fields, as the API server does itself."""

from collections.abc import Sequence
from typing import Any

from intact.kube.resources import Resource
from intact.model.field_error import FieldError
from intact.model.status import Status, StatusCause, StatusDetails


def invalid(resource: Resource[Any], name: str, errors: Sequence[FieldError]) -> Status:
    causes = [
        StatusCause(reason="FieldValueInvalid", message=error.body, field=error.path)
        for error in errors
    ]
    text = "; ".join(str(error) for error in errors)
    return Status(
        status="Failure",
        code=422,
        reason="Invalid",
        message=f'{resource.kind} "{name}" is invalid: {text}',
        details=StatusDetails(name=name, group=resource.group, kind=resource.kind, causes=causes),
    )
