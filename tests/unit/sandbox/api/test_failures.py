"""Refusals, word for word as kube-apiserver has them; the contract compares the two."""

import pytest

from intact.sandbox.api.failures import (
    Failure,
    NoSuchPage,
    already_exists,
    conflict,
    forbidden,
    invalid_object,
    invalid_value,
    not_found,
    required_value,
    storage_conflict,
    too_many_requests,
)
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import decode

WIDGET = Kind("example.com", "v1", "widgets", "Widget")
STORAGE = (
    "StorageError: invalid object, Code: 4, Key: /registry/example.com/widgets/ns/w, "
    "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: a, UID in "
    "object meta: b"
)

SAID: dict[str, tuple[Failure, int, str, str]] = {
    "not found": (not_found(WIDGET, "w"), 404, "NotFound", 'widgets.example.com "w" not found'),
    "exists": (
        already_exists(WIDGET, "w"),
        409,
        "AlreadyExists",
        'widgets.example.com "w" already exists',
    ),
    "exists, terminating": (
        already_exists(WIDGET, "w", terminating=True),
        409,
        "AlreadyExists",
        'object is being deleted: widgets.example.com "w" already exists',
    ),
    "conflict": (
        conflict(WIDGET, "w", "why"),
        409,
        "Conflict",
        'Operation cannot be fulfilled on widgets.example.com "w": why',
    ),
    "precondition of the storage": (
        storage_conflict(WIDGET, "w", "ns/w", "UID", "a", "b"),
        409,
        "Conflict",
        f'Operation cannot be fulfilled on widgets.example.com "w": {STORAGE}',
    ),
    "forbidden": (
        forbidden("", "pods", "p", "why"),
        403,
        "Forbidden",
        'pods "p" is forbidden: why',
    ),
    "one invalid field": (
        invalid_object(WIDGET, "w", [invalid_value("spec.size", "-1", "is negative")]),
        422,
        "Invalid",
        'Widget.example.com "w" is invalid: spec.size: Invalid value: -1: is negative',
    ),
    "two invalid fields": (
        invalid_object(WIDGET, "w", [required_value("a", "x"), required_value("b", "y")]),
        422,
        "Invalid",
        'Widget.example.com "w" is invalid: [a: Required value: x, b: Required value: y]',
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_a_refusal_is_a_status(name: str) -> None:
    failure, code, reason, message = SAID[name]
    assert (failure.code, failure.reason, str(failure)) == (code, reason, message)
    status = decode(failure.body)
    assert (status["kind"], status["status"], status["message"]) == ("Status", "Failure", message)


def test_details_leave_out_what_is_empty() -> None:
    assert not_found(Kind("", "v1", "pods", "Pod"), "p").status["details"] == {
        "name": "p",
        "kind": "pods",
    }


@pytest.mark.parametrize(("seconds", "after"), [(0, None), (10, 10.0)])
def test_retry_after_is_said_in_seconds(seconds: int, after: float | None) -> None:
    assert too_many_requests("wait", [], seconds).retry_after == after


def test_a_path_that_is_not_served_is_refused_in_plain_text() -> None:
    assert (NoSuchPage().code, NoSuchPage().body) == (404, b"404 page not found\n")
