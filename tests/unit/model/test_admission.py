"""An AdmissionRequest, decoded from a review, and an answer to it."""

import msgspec
import pytest

from intact.model.admission import NULL, AdmissionResponse, read_eviction, read_request


def raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def test_the_objects_of_a_request_stay_raw() -> None:
    request = read_request(
        raw(
            """{"uid": "u", "operation": "UPDATE", "subResource": "status", "dryRun": true,
            "userInfo": {"username": "alice"}, "oldObject": {"spec":  1}}"""
        )
    )
    assert (request.uid, request.operation, request.sub_resource) == ("u", "UPDATE", "status")
    assert request.dry_run
    assert request.user_info.username == "alice"
    assert bytes(request.old_object) == b'{"spec":  1}'
    assert bytes(request.object) == bytes(NULL)


@pytest.mark.parametrize("text", ["{}", "[]", '{"uid": 1}', '{"uid": "u", "dryRun": "yes"}'])
def test_a_request_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_request(raw(text))


def test_an_answer_is_written_without_what_it_does_not_say() -> None:
    assert msgspec.to_builtins(AdmissionResponse(allowed=True)) == {"allowed": True}


EVICTIONS = {
    "nothing": ("{}", "", False),
    "no options": ('{"deleteOptions": null}', "", False),
    "no preconditions": ('{"deleteOptions": {"gracePeriodSeconds": 1}}', "", False),
    "a version": ('{"deleteOptions": {"preconditions": {"resourceVersion": "1"}}}', "", False),
    "a UID": ('{"deleteOptions": {"preconditions": {"uid": "u"}}}', "u", False),
    "no UID": ('{"deleteOptions": {"preconditions": {"uid": null}}}', "", False),
    "a dry run": ('{"deleteOptions": {"dryRun": ["All"]}}', "", True),
}


@pytest.mark.parametrize(("text", "uid", "dry_run"), EVICTIONS.values(), ids=EVICTIONS)
def test_what_an_eviction_says(text: str, uid: str, dry_run: bool) -> None:
    eviction = read_eviction(msgspec.Raw(text.encode()))
    assert (eviction.uid, eviction.is_dry_run) == (uid, dry_run)


def test_an_eviction_of_another_shape_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        read_eviction(msgspec.Raw(b'{"deleteOptions": {"preconditions": {"uid": 5}}}'))
