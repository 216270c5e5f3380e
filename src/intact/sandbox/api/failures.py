"""The refusals of the server: the Status objects of kube-apiserver, word for word."""

from dataclasses import dataclass
from typing import Any

from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, encode

STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Failure(Exception):
    """A request that ends with a Status other than Success."""

    def __init__(self, status: Json) -> None:
        super().__init__(status.get("message", ""))
        self.status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            **status,
        }

    @property
    def code(self) -> int:
        return int(self.status["code"])

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))

    @property
    def body(self) -> bytes:
        return encode(self.status)

    @property
    def retry_after(self) -> float | None:
        seconds = (self.status.get("details") or {}).get("retryAfterSeconds")
        return float(seconds) if seconds else None


class NoSuchPage(Failure):
    """A path outside of everything that is served: kube-apiserver answers in plain text."""

    def __init__(self) -> None:
        super().__init__({"code": 404, "message": "404 page not found"})

    @property
    def body(self) -> bytes:
        return b"404 page not found\n"


@dataclass(frozen=True, slots=True)
class FieldError:
    type: str
    field: str
    body: str

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def invalid_value(field: str, value: str, why: str) -> FieldError:
    """`value` is written as Go would: strings quoted, numbers bare."""
    return FieldError("FieldValueInvalid", field, f"Invalid value: {value}: {why}")


def required_value(field: str, why: str) -> FieldError:
    return FieldError(
        "FieldValueRequired", field, f"Required value: {why}" if why else "Required value"
    )


def too_long(field: str, most: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {most} bytes")


def too_many(field: str, count: int, most: int) -> FieldError:
    why = f"Too many: {count}: must have at most {most} items"
    return FieldError("FieldValueTooMany", field, why)


def forbidden_value(field: str, why: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {why}")


def unsupported_value(field: str, value: str, supported: tuple[str, ...]) -> FieldError:
    listed = ", ".join(f'"{item}"' for item in supported)
    return FieldError(
        "FieldValueNotSupported", field, f"Unsupported value: {value}: supported values: {listed}"
    )


def _failure(
    code: int, reason: str, message: str, details: Json | None = None, **more: Any
) -> Failure:
    status: Json = {"message": message, "reason": reason, "code": code, **more}
    if details is not None:
        status["details"] = {key: value for key, value in details.items() if value}
    return Failure(status)


def _about(kind: Kind, name: str) -> Json:
    return {"name": name, "group": kind.group, "kind": kind.plural}


def not_found(kind: Kind, name: str) -> Failure:
    return _failure(404, "NotFound", f'{kind.full_name} "{name}" not found', _about(kind, name))


def no_such_resource() -> Failure:
    return _failure(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> Failure:
    message = "the server does not allow this method on the requested resource"
    return _failure(405, "MethodNotAllowed", message, {})


def already_exists(kind: Kind, name: str, *, terminating: bool = False) -> Failure:
    message = f'{kind.full_name} "{name}" already exists'
    if terminating:
        message = f"object is being deleted: {message}"
    return _failure(409, "AlreadyExists", message, _about(kind, name))


def conflict(kind: Kind, name: str, why: str = STALE) -> Failure:
    message = f'Operation cannot be fulfilled on {kind.full_name} "{name}": {why}'
    return _failure(409, "Conflict", message, _about(kind, name))


def precondition_conflict(kind: Kind, name: str, why: str) -> Failure:
    """As deletions word it: with the kind where other conflicts have the resource."""
    message = f'Operation cannot be fulfilled on {kind.group_kind} "{name}": {why}'
    details = {"name": name, "group": kind.group, "kind": kind.kind}
    return _failure(409, "Conflict", message, details)


def storage_conflict(
    kind: Kind, name: str, key: str, field: str, wanted: str, actual: str
) -> Failure:
    """As the storage words a precondition that does not hold."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {kind.storage_key(key)}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {field} in precondition: "
        f"{wanted}, {field} in object meta: {actual}"
    )
    return conflict(kind, name, why)


def apply_conflict(message: str, causes: list[Json]) -> Failure:
    return _failure(409, "Conflict", message, {"causes": causes})


def invalid(group: str, kind: str, name: str, errors: list[FieldError]) -> Failure:
    texts = list(dict.fromkeys(str(error) for error in errors))
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    causes = [
        {"reason": error.type, "message": error.body, "field": error.field} for error in errors
    ]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return _failure(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details)


def invalid_object(kind: Kind, name: str, errors: list[FieldError]) -> Failure:
    return invalid(kind.group, kind.kind, name, errors)


def invalid_options(options: str, errors: list[FieldError]) -> Failure:
    return invalid("meta.k8s.io", options, "", errors)


def unprocessable() -> Failure:
    """A JSON patch that does not apply. kube-apiserver does not say why."""
    message = "the server rejected our request due to an error in our request"
    return _failure(422, "Invalid", message, {})


def bad_request(message: str) -> Failure:
    return _failure(400, "BadRequest", message)


def forbidden(
    group: str, kind: str, name: str, why: str, causes: list[Json] | None = None
) -> Failure:
    qualified = f"{kind}.{group}" if group else kind
    subject = f'{qualified} "{name}"' if name else qualified
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return _failure(403, "Forbidden", f"{subject} is forbidden: {why}", details)


def unsupported_media(accepted: tuple[str, ...]) -> Failure:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
    return _failure(415, "UnsupportedMediaType", message)


def wrong_media() -> Failure:
    """A patch of a type that no kind takes."""
    return _failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def expired(message: str, *, continue_token: str = "") -> Failure:
    more = {"metadata": {"continue": continue_token}} if continue_token else {}
    return _failure(410, "Expired", message, **more)


def too_large_resource_version(requested: int, current: int) -> Failure:
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return _failure(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def too_many_requests(message: str, causes: list[Json], retry_after: int = 0) -> Failure:
    details = {"causes": causes, "retryAfterSeconds": retry_after}
    return _failure(429, "TooManyRequests", message, details)


def internal_error(why: str) -> Failure:
    message = f"Internal error occurred: {why}"
    return _failure(500, "InternalError", message, {"causes": [{"message": why}]})


def unexpected(message: str) -> Failure:
    """An error that kube-apiserver did not foresee: 500, and the error's own words."""
    return Failure({"message": message, "code": 500})
