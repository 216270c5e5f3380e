"""DeleteOptions, from a body or a query."""

import pytest

from intact.kube.transport import Request
from intact.sandbox import DEFAULT_KINDS
from intact.sandbox.api.failures import Failure
from intact.sandbox.api.objects import Json, encode
from intact.sandbox.api.removal.delete_options import (
    DeleteOptions,
    check_preconditions,
    parse_options,
    read_options,
)
from intact.sandbox.api.routing import Call, Route, User

POD = DEFAULT_KINDS[0]


def call(body: Json | None = None, **query: str) -> Call:
    sent = encode(body) if body is not None else b""
    return Call(Route(POD, "v1", "ns", "p"), Request("DELETE", "/", query, sent), User())


def test_options_of_a_body() -> None:
    body = {
        "gracePeriodSeconds": 3,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }
    found = parse_options(call(body, gracePeriodSeconds="9"))
    assert (found.grace, found.propagation, found.dry_run) == (3, "Orphan", True)
    assert (found.uid, found.resource_version) == ("u", "7")
    assert found.sent is not None
    assert found.sent["kind"] == "DeleteOptions"


def test_options_of_a_query() -> None:
    found = parse_options(call(gracePeriodSeconds="3", orphanDependents="true", dryRun="All"))
    assert (found.grace, found.orphan_dependents, found.dry_run) == (3, True, True)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"propagationPolicy": "Never"}, "supported values"),
        ({"dryRun": ["Some"]}, "supported values"),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "cannot be both set"),
    ],
)
def test_options_that_make_no_sense_are_refused(sent: Json, why: str) -> None:
    with pytest.raises(Failure, match=why):
        read_options(sent)


def test_a_body_of_another_kind_is_refused() -> None:
    with pytest.raises(Failure, match='no kind "Pod" is registered'):
        parse_options(call({"kind": "Pod"}))


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        (DeleteOptions(), True),
        (DeleteOptions(uid="u", resource_version="7"), True),
        (DeleteOptions(uid="other"), False),
        (DeleteOptions().at_version("6"), False),
    ],
)
def test_preconditions(options: DeleteOptions, holds: bool) -> None:
    obj = {"metadata": {"name": "p", "uid": "u", "resourceVersion": "7"}}
    if holds:
        check_preconditions(POD, obj, options)
        return
    with pytest.raises(Failure, match="The object might have been") as caught:
        check_preconditions(POD, obj, options)
    assert caught.value.code == 409
