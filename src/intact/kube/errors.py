"""What can go wrong with the Kubernetes API.

`ApiError` and its subclasses carry the Status that the server answered with. `Unreachable` means
that there was no answer at all.
"""

import msgspec

from intact.model.status import Status, StatusCause


class KubeError(Exception):
    """Anything that this package raises."""


class ConfigError(KubeError):
    """The kubeconfig, the in-cluster files or a credential plugin cannot be used."""


class PatchError(KubeError):
    """The patch does not fit the document."""


class Unreachable(KubeError):
    """No answer: the connection could not be made, broke or timed out.

    `sent` is false only if the request certainly never reached the server.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class Silent(Unreachable):
    """A watch has brought nothing for its time limit. Its connection may be dead; or there was
    nothing to bring, for a server sends bookmarks as it likes."""


def cannot_connect(server: str, why: object) -> Unreachable:
    return Unreachable(f"cannot connect to {server}: {why}", sent=False)


def connects_too_slowly(server: str, seconds: float) -> Unreachable:
    return Unreachable(f"cannot connect to {server} within {seconds:.0f} s", sent=False)


def no_answer(server: str) -> Unreachable:
    return Unreachable(f"no answer from {server} in time")


def silent(server: str) -> Silent:
    return Silent(f"a watch of {server} was silent for its time limit")


def connection_lost(server: str, error: Exception) -> Unreachable:
    return Unreachable(f"lost the connection to {server}: {error!r}")


class Undecodable(KubeError):
    """The server's answer cannot be read: no JSON, or not of the shape that was asked for."""


class ApiError(KubeError):
    """The server answered with a failure."""

    def __init__(self, status: Status, retry_after: float | None = None) -> None:
        super().__init__(status.message or f"{status.code} {status.reason}".strip())
        self.status = status
        self.retry_after = retry_after

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason

    @property
    def causes(self) -> list[StatusCause]:
        return self.status.details.causes if self.status.details else []

    def has_cause(self, reason: str) -> bool:
        return any(cause.reason == reason for cause in self.causes)


class BadRequest(ApiError):
    """400: the request itself is malformed."""


class Unauthorized(ApiError):
    """401: the credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """403: the credentials are good and do not suffice."""


class NotFound(ApiError):
    """404: no such object, or no such resource on this server."""


class MethodNotAllowed(ApiError):
    """405: the resource does not know this verb."""


class Conflict(ApiError):
    """409: the object has changed since it was read, or a precondition does not hold."""


class AlreadyExists(Conflict):
    """409 with reason AlreadyExists: an object of this name is there."""


class Gone(ApiError):
    """410: the resource version is too old to list or watch from."""


class Invalid(ApiError):
    """422: the object fails validation; the causes name the fields."""


class TooManyRequests(ApiError):
    """429: a disruption budget denies, or the server is overloaded."""


class ServerError(ApiError):
    """5xx: the server failed, or cannot answer now."""


_BY_REASON: dict[str, type[ApiError]] = {"AlreadyExists": AlreadyExists, "Expired": Gone}
_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
_DECODER = msgspec.json.Decoder(Status)


def error_of_status(status: Status, retry_after: float | None = None) -> ApiError:
    """The exception that stands for a Status."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code)
    if kind is None:
        kind = ServerError if status.code >= 500 else ApiError
    return kind(status, retry_after)


def error_of_response(code: int, body: bytes, retry_after: float | None = None) -> ApiError:
    """The exception for a failed response, also where a proxy in between wrote the body."""
    try:
        status = _DECODER.decode(body)
    except msgspec.DecodeError:
        status = Status()
    if status.kind != "Status" or not status.code:
        text = body.decode("utf-8", "replace").strip()
        status = Status(status="Failure", code=code, message=text[:500] or f"HTTP {code}")
    return error_of_status(status, retry_after)
