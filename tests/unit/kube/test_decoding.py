"""From bytes to views: what is left out, and what is raised."""

import logging
from typing import Any

import msgspec
import pytest

from intact.kube.decoding import (
    ADDED,
    BOOKMARK,
    DELETED,
    MODIFIED,
    Decoders,
    Page,
    WatchEvent,
    decoders,
)
from intact.kube.errors import Forbidden, Gone, Undecodable
from intact.kube.resources import PODS, PUBS
from intact.model.pod import Pod
from tests.support import objects

Json = dict[str, Any]
WRONG_SHAPES = {
    "a field": {"status": {"phase": 7}},
    "a list": {"spec": {"containers": {"name": "c"}}},
    "the metadata's own": {
        "metadata": {"name": "p", "namespace": "ns", "resourceVersion": "7", "labels": "none"}
    },
}


@pytest.fixture
def pods() -> Decoders[Pod]:
    return Decoders(PODS)


def pod(name: str = "p", **fields: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": "7"}} | fields


def page(items: list[Json] | None, **metadata: str) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": "9"} | metadata, "items": items})


def event(kind: str, obj: Json) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj})


def names(found: Page[Pod]) -> list[str]:
    return [item.metadata.name for item in found.items]


def test_a_page(pods: Decoders[Pod]) -> None:
    found = pods.page(page([pod("a"), pod("b")], **{"continue": "more"}))
    assert names(found) == ["a", "b"]
    assert (found.resource_version, found.continue_token) == ("9", "more")


def test_the_last_page_has_no_token(pods: Decoders[Pod]) -> None:
    assert pods.page(page([pod("a")])).continue_token == ""


@pytest.mark.parametrize("body", [page([]), page(None), b'{"metadata": {"resourceVersion": "9"}}'])
def test_an_empty_page(pods: Decoders[Pod], body: bytes) -> None:
    assert pods.page(body) == Page([], "9", "")


@pytest.mark.parametrize("wrong", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_an_object_of_a_wrong_shape_is_ignored_in_its_page(
    pods: Decoders[Pod], wrong: Json, caplog: pytest.LogCaptureFixture
) -> None:
    body = page([pod("a"), pod("p") | wrong, pod("b")], **{"continue": "more"})
    found = pods.page(body)
    assert names(found) == ["a", "b"]
    assert (found.resource_version, found.continue_token) == ("9", "more")
    assert pods.undecodable == 1
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "pods ns/p does not have the expected shape" in record.getMessage()


@pytest.mark.parametrize("kind", [ADDED, MODIFIED, DELETED])
def test_an_event(pods: Decoders[Pod], kind: str) -> None:
    found = pods.event(event(kind, pod("a")))
    assert (found.type, found.resource_version) == (kind, "7")
    assert found.object is not None
    assert found.object.metadata.name == "a"


def test_an_event_of_an_untyped_resource() -> None:
    found = Decoders(objects.PODS).event(event(ADDED, pod("a")))
    assert found == WatchEvent(ADDED, pod("a"), "7")


@pytest.mark.parametrize("kind", [ADDED, MODIFIED, DELETED])
@pytest.mark.parametrize("wrong", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_an_object_that_cannot_be_read_is_no_longer_to_be_seen(
    pods: Decoders[Pod], wrong: Json, kind: str
) -> None:
    assert pods.event(event(kind, pod("p") | wrong)) == WatchEvent(DELETED, None, "7", ("ns", "p"))
    assert pods.undecodable == 1


def test_a_bookmark_only_moves_the_version_on(pods: Decoders[Pod]) -> None:
    line = event(BOOKMARK, {"kind": "Pod", "metadata": {"resourceVersion": "12"}})
    assert pods.event(line) == WatchEvent(BOOKMARK, None, "12")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"code": 410, "reason": "Expired", "message": "too old resource version"}, Gone),
        ({"code": 410, "reason": "Gone", "message": "too old resource version"}, Gone),
        ({"code": 403, "reason": "Forbidden", "message": "no longer yours"}, Forbidden),
    ],
)
def test_an_error_event_is_raised(pods: Decoders[Pod], status: Json, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=status["message"]):
        pods.event(event("ERROR", {"kind": "Status", **status}))


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'{"items": 5}', b'{"items": [{"a'])
def test_an_answer_that_is_no_list(pods: Decoders[Pod], body: bytes) -> None:
    with pytest.raises(Undecodable, match="pods: not a list: "):
        pods.page(body)


@pytest.mark.parametrize("line", [b"<html>", b"", b'{"type": "ADDED"}', b'{"type":"ERROR","obj'])
def test_a_line_that_is_no_event(pods: Decoders[Pod], line: bytes) -> None:
    with pytest.raises(Undecodable, match="pods: not a watch event: "):
        pods.event(line)


def test_a_single_object_of_a_wrong_shape_is_said_to_be(pods: Decoders[Pod]) -> None:
    with pytest.raises(Undecodable, match=r"not an object: .*`\$.status.phase`.*begins '{"):
        pods.one(msgspec.json.encode(pod(status={"phase": 7})))


def test_the_decoders_of_a_resource_are_made_once() -> None:
    assert decoders(PODS) is decoders(PODS)


def test_a_budget_of_a_wrong_shape_is_read_as_far_as_possible(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pubs = Decoders(PUBS)
    wrong = pod("b") | {"spec": {"maxUnavailable": 1.5}, "status": {"disruptedPods": {"x": 5}}}
    found = [pubs.one(msgspec.json.encode(wrong)), *pubs.page(page([wrong])).items]
    found += [pubs.event(event(MODIFIED, wrong)).object or found[0]]
    for budget in found:
        assert budget.metadata.name == "b"
        assert [each.partition(":")[0] for each in budget.problems] == ["spec.maxUnavailable"]
        assert [each.partition(":")[0] for each in budget.damages] == ["status.disruptedPods"]
    assert pubs.undecodable == 3
    assert "is read as far as possible" in caplog.text


DEEP = b'{"f:a":' * 5000 + b"{}" + b"}" * 5000
"""As the API server stores it in managedFields, whoever has written it."""


def test_objects_that_nest_deeply_are_read_without_their_depths() -> None:
    fields = b'"managedFields":[{"manager":"x","fieldsV1":' + DEEP + b"}]"
    body = b'{"metadata":{"name":"p","namespace":"ns","resourceVersion":"7",' + fields + b"}}"
    found = decoders(PODS)
    assert found.one(body).metadata.name == "p"
    page = found.page(b'{"metadata":{"resourceVersion":"8"},"items":[' + body + b"]}")
    assert [pod.metadata.name for pod in page.items] == ["p"]
    event = found.event(b'{"type":"ADDED","object":' + body + b"}")
    assert (event.type, event.resource_version) == ("ADDED", "7")
    assert event.object is not None


def test_what_no_api_server_writes_is_unreadable() -> None:
    bottomless = b'{"x":' + b"[" * 100_000
    found = decoders(PODS)
    for read in (found.one, found.page, found.event):
        with pytest.raises(Undecodable, match="nested more than"):
            read(bottomless)


def test_what_is_no_text_is_unreadable() -> None:
    found = decoders(PODS)
    for read in (found.one, found.page, found.event):
        with pytest.raises(Undecodable, match="utf-8"):
            read(b'{"metadata":{"name":"\xff","resourceVersion":"\xff"},"type":"\xff"}')
