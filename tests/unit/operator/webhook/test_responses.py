"""Answers to admission reviews, as the API server passes them on."""

import base64

import msgspec

from intact.kube.resources import PUBS
from intact.model.field_error import FieldError
from intact.operator.webhook import probe
from intact.operator.webhook.responses import ALLOWED, PROBED, denied, invalid, patched


def test_an_allowance_says_nothing_else() -> None:
    assert msgspec.to_builtins(ALLOWED) == {"allowed": True}


def test_a_denial_is_a_429_with_the_cause_of_the_eviction_api() -> None:
    assert msgspec.to_builtins(denied("the budget b requires 3 pods")) == {
        "allowed": False,
        "status": {
            "status": "Failure",
            "message": "the budget b requires 3 pods",
            "reason": "TooManyRequests",
            "code": 429,
            "details": {
                "causes": [
                    {"reason": "DisruptionBudget", "message": "the budget b requires 3 pods"}
                ]
            },
        },
    }


def test_a_probe_is_denied_with_a_cause_of_its_own() -> None:
    assert not PROBED.allowed
    assert PROBED.status is not None
    assert PROBED.status.details is not None
    assert [cause.reason for cause in PROBED.status.details.causes] == [probe.CAUSE]
    assert PROBED.audit_annotations == {"decision": "denied", "reason": probe.CAUSE}


def test_a_patch_is_sent_in_base64() -> None:
    operations = [{"op": "add", "path": "/spec/x", "value": 1}]
    answer = patched(operations)
    assert (answer.allowed, answer.patch_type) == (True, "JSONPatch")
    assert msgspec.json.decode(base64.b64decode(answer.patch)) == operations


def test_every_invalid_field_is_named() -> None:
    errors = [
        FieldError("spec.maxUnavailable", "1x", "is not a percentage"),
        FieldError("spec.selector", None, "is required"),
    ]
    answer = invalid(PUBS, "b", errors)
    assert not answer.allowed
    status = answer.status
    assert status is not None
    assert (status.code, status.reason) == (422, "Invalid")
    assert status.message == (
        'PodUnavailableBudget "b" is invalid: spec.maxUnavailable: Invalid value: "1x": is not a '
        "percentage; spec.selector: is required"
    )
    assert status.details is not None
    assert [(one.field, one.message) for one in status.details.causes] == [
        ("spec.maxUnavailable", 'Invalid value: "1x": is not a percentage'),
        ("spec.selector", "is required"),
    ]
    assert answer.audit_annotations == {"decision": "denied", "reason": "Invalid"}
