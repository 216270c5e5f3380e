"""From a failed answer to the exception that stands for it."""

import msgspec
import pytest

from intact.kube import errors
from intact.kube.errors import ApiError, Unreachable, error_of_response, error_of_status
from intact.model.status import Status, StatusCause, StatusDetails


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Gone", errors.Gone),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        (415, "UnsupportedMediaType", ApiError),
        (418, "", ApiError),
    ],
)
def test_each_status_has_its_exception(code: int, reason: str, kind: type[ApiError]) -> None:
    body = msgspec.json.encode(Status(code=code, reason=reason, message="why"))
    error = error_of_response(code, body)
    assert type(error) is kind
    assert (error.code, error.reason, str(error)) == (code, reason, "why")


def test_already_exists_is_a_conflict() -> None:
    assert isinstance(error_of_status(Status(code=409, reason="AlreadyExists")), errors.Conflict)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>bad gateway</html>", "<html>bad gateway</html>"),
        (b"", "HTTP 502"),
        (b"  \n", "HTTP 502"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'{"error": "of a proxy"}', '{"error": "of a proxy"}'),
        (b'{"kind": "Other", "code": 404}', '{"kind": "Other", "code": 404}'),
        (b'{"code": "no number"}', '{"code": "no number"}'),
        (b"x" * 501, "x" * 500),
    ],
    ids=["html", "empty", "blank", "no text", "other json", "other kind", "bad shape", "long"],
)
def test_an_answer_that_a_proxy_wrote_keeps_its_http_status(body: bytes, message: str) -> None:
    error = error_of_response(502, body)
    assert isinstance(error, errors.ServerError)
    assert (error.code, str(error)) == (502, message)


def test_without_a_message_the_code_and_the_reason_speak() -> None:
    assert str(error_of_status(Status(code=403, reason="Forbidden"))) == "403 Forbidden"
    assert str(error_of_status(Status(code=403))) == "403"


def test_an_error_has_the_causes_of_its_status() -> None:
    details = StatusDetails(causes=[StatusCause(reason="DisruptionBudget", message="0 left")])
    error = error_of_status(Status(code=429, details=details))
    assert error.has_cause("DisruptionBudget")
    assert not error.has_cause("Other")
    assert [cause.message for cause in error.causes] == ["0 left"]
    assert error_of_status(Status(code=429)).causes == []


def test_retry_after_is_kept() -> None:
    assert error_of_response(429, b"", 7.0).retry_after == 7.0
    assert error_of_response(429, b"").retry_after is None


def test_a_lost_request_counts_as_sent_unless_it_is_known_not_to_be() -> None:
    assert Unreachable("lost").sent
    assert not Unreachable("refused", sent=False).sent
