"""The client: what it asks for, and what it asks for again."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from intact.kube.client import Client, PatchType
from intact.kube.decoding import WatchEvent
from intact.kube.errors import (
    ApiError,
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Undecodable,
    Unreachable,
)
from intact.kube.resources import LEASES, PODS, untyped
from intact.kube.transport import JSON, Request, Response, Stream
from tests.support import objects
from tests.unit.kube.simulated import NoJitter, now, simulated

Json = dict[str, Any]
NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
POD = {"metadata": {"name": "p", "namespace": "ns", "resourceVersion": "7"}}
OK = Response(200, msgspec.json.encode(POD))


class Script:
    """A server that gives prepared answers, and remembers what it was asked and when."""

    def __init__(self, *answers: Response | Exception, chunks: Iterable[bytes] = ()) -> None:
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.stream_status = 200
        self.closed = False
        self._answers = deque(answers)
        self._chunks = list(chunks)

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        self.times.append(now())
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self.requests.append(request)
        return self._stream()

    @asynccontextmanager
    async def _stream(self) -> AsyncGenerator[Stream, None]:
        async def chunks() -> AsyncIterator[bytes]:
            for chunk in self._chunks:
                yield chunk

        yield Stream(self.stream_status, chunks())

    async def close(self) -> None:
        self.closed = True


def refusal(code: int, retry_after: float | None = None) -> Response:
    body = {"kind": "Status", "code": code, "message": f"answer {code}"}
    return Response(code, msgspec.json.encode(body), retry_after)


def client_of(script: Script) -> Client:
    return Client(script, rng=NoJitter())


Call = Callable[[Client], Awaitable[object]]
GET: Call = lambda client: client.get(PODS, "p", "ns")  # noqa: E731
CALLS: dict[str, tuple[Call, Request]] = {
    "get": (GET, Request("GET", "/api/v1/namespaces/ns/pods/p")),
    "get of a subresource": (
        lambda client: client.get(PODS, "p", "ns", subresource="status", timeout=3),
        Request("GET", "/api/v1/namespaces/ns/pods/p/status", timeout=3),
    ),
    "list": (
        lambda client: client.list(PODS, "ns"),
        Request("GET", "/api/v1/namespaces/ns/pods", {"limit": "500"}),
    ),
    "list of a selection": (
        lambda client: client.list(PODS, labels="app in (a,b)", fields="spec.nodeName=n"),
        Request(
            "GET",
            "/api/v1/pods",
            {
                "limit": "500",
                "labelSelector": "app in (a,b)",
                "fieldSelector": "spec.nodeName=n",
            },
        ),
    ),
    "create": (
        lambda client: client.create(PODS, {"a": 1}, "ns"),
        Request("POST", "/api/v1/namespaces/ns/pods", {"fieldManager": "intact"}, b'{"a":1}'),
    ),
    "dry run of a create": (
        lambda client: client.create(NODES, {}, dry_run=True, field_manager="me"),
        Request("POST", "/api/v1/nodes", {"fieldManager": "me", "dryRun": "All"}, b"{}"),
    ),
    "create of a subresource": (
        lambda client: client.create_subresource(PODS, "p", "ns", "binding", {"a": 1}),
        Request(
            "POST",
            "/api/v1/namespaces/ns/pods/p/binding",
            {"fieldManager": "intact"},
            b'{"a":1}',
        ),
    ),
    "update": (
        lambda client: client.update(LEASES, {"a": 1}, "l", "ns"),
        Request(
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l",
            {"fieldManager": "intact"},
            b'{"a":1}',
        ),
    ),
    "update of a subresource": (
        lambda client: client.update(PODS, {}, "p", "ns", subresource="status", dry_run=True),
        Request(
            "PUT",
            "/api/v1/namespaces/ns/pods/p/status",
            {"fieldManager": "intact", "dryRun": "All"},
            b"{}",
        ),
    ),
    "merge patch": (
        lambda client: client.patch(PODS, {"a": None}, "p", "ns"),
        Request(
            "PATCH",
            "/api/v1/namespaces/ns/pods/p",
            {"fieldManager": "intact"},
            b'{"a":null}',
            "application/merge-patch+json",
        ),
    ),
    "json patch": (
        lambda client: client.patch(PODS, [], "p", "ns", type=PatchType.JSON, subresource="status"),
        Request(
            "PATCH",
            "/api/v1/namespaces/ns/pods/p/status",
            {"fieldManager": "intact"},
            b"[]",
            "application/json-patch+json",
        ),
    ),
    "strategic patch": (
        lambda client: client.patch(PODS, {}, "p", "ns", type=PatchType.STRATEGIC, dry_run=True),
        Request(
            "PATCH",
            "/api/v1/namespaces/ns/pods/p",
            {"fieldManager": "intact", "dryRun": "All"},
            b"{}",
            "application/strategic-merge-patch+json",
        ),
    ),
    "apply": (
        lambda client: client.patch(
            PODS, {}, "p", "ns", type=PatchType.APPLY, force=True, field_manager="me"
        ),
        Request(
            "PATCH",
            "/api/v1/namespaces/ns/pods/p",
            {"fieldManager": "me", "force": "true"},
            b"{}",
            "application/apply-patch+yaml",
        ),
    ),
    "delete": (
        lambda client: client.delete(PODS, "p", "ns"),
        Request(
            "DELETE",
            "/api/v1/namespaces/ns/pods/p",
            body=b'{"apiVersion":"v1","kind":"DeleteOptions"}',
        ),
    ),
    "delete with options": (
        lambda client: client.delete(
            PODS,
            "p",
            "ns",
            grace_period_seconds=0,
            propagation_policy="Foreground",
            uid="u",
            resource_version="7",
            dry_run=True,
        ),
        Request(
            "DELETE",
            "/api/v1/namespaces/ns/pods/p",
            body=b'{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,'
            b'"propagationPolicy":"Foreground",'
            b'"preconditions":{"uid":"u","resourceVersion":"7"},"dryRun":["All"]}',
        ),
    ),
    "delete of many": (
        lambda client: client.delete_collection(PODS, "ns", labels="a=b", grace_period_seconds=1),
        Request(
            "DELETE",
            "/api/v1/namespaces/ns/pods",
            {"labelSelector": "a=b"},
            b'{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":1}',
            timeout=120,
        ),
    ),
    "evict": (
        lambda client: client.evict(PODS, "p", "ns", uid="u", dry_run=True),
        Request(
            "POST",
            "/api/v1/namespaces/ns/pods/p/eviction",
            {"fieldManager": "intact", "dryRun": "All"},
            b'{"apiVersion":"policy/v1","kind":"Eviction",'
            b'"metadata":{"name":"p","namespace":"ns"},'
            b'"deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions",'
            b'"preconditions":{"uid":"u"},"dryRun":["All"]}}',
        ),
    ),
    "raw": (
        lambda client: client.raw("/version", {"timeout": "1s"}),
        Request("GET", "/version", {"timeout": "1s"}),
    ),
}
WRITES = [name for name, (_, request) in CALLS.items() if request.method != "GET"]
READS = [name for name in CALLS if name not in WRITES]
REPEATED_WRITES = [name for name in WRITES if name != "evict"]


@pytest.mark.parametrize("name", CALLS)
@simulated
async def test_what_is_sent(name: str) -> None:
    call, request = CALLS[name]
    script = Script(OK)
    await call(client_of(script))
    assert script.requests == [request]


@simulated
async def test_no_object_has_an_empty_name() -> None:
    """The path would be that of a list."""
    script = Script(OK)
    with pytest.raises(NotFound, match="empty name"):
        await client_of(script).get(PODS, "", "ns")
    assert script.requests == []


@pytest.mark.parametrize("answer", [OK, Response(201, OK.body)])
@simulated
async def test_an_object_is_read_as_its_resource_says(answer: Response) -> None:
    assert (await client_of(Script(answer)).get(PODS, "p", "ns")).metadata.name == "p"
    assert await client_of(Script(answer)).get(objects.PODS, "p", "ns") == POD


@simulated
async def test_a_subresource_is_answered_with_a_dict() -> None:
    script = Script(Response(201, b'{"status":{"token":"t"}}'))
    answer = await client_of(script).create_subresource(PODS, "p", "ns", "token", {})
    assert answer == {"status": {"token": "t"}}


@pytest.mark.parametrize("name", ["get", "list", "create", "create of a subresource", "update"])
@simulated
async def test_an_answer_that_cannot_be_read(name: str) -> None:
    script = Script(Response(200, b"<html>welcome</html>"))
    with pytest.raises(Undecodable, match="it begins '<html>welcome"):
        await CALLS[name][0](client_of(script))
    assert len(script.requests) == 1


@simulated
async def test_a_failure_is_raised_as_what_it_is() -> None:
    with pytest.raises(NotFound, match="answer 404"):
        await GET(client_of(Script(refusal(404))))


@simulated
async def test_warnings_are_passed_on() -> None:
    heard: list[str] = []
    answer = Response(200, OK.body, warnings=("old", "older"))
    await Client(Script(answer), on_warning=heard.append).get(PODS, "p", "ns")
    assert heard == ["old", "older"]


@simulated
async def test_warnings_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    await Client(Script(Response(200, OK.body, warnings=("old",)))).get(PODS, "p", "ns")
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.WARNING, "API server: old")


@simulated
async def test_the_transport_is_closed_with_the_client() -> None:
    script = Script()
    async with client_of(script):
        assert not script.closed
    assert script.closed


class TestRetries:
    """Whatever is not repeated has one request and one answer: a second would not be there."""

    @pytest.mark.parametrize("name", READS)
    @pytest.mark.parametrize(
        "failure",
        [Unreachable("broke"), refusal(500), refusal(502), refusal(503), refusal(504)],
        ids=["unreachable", "500", "502", "503", "504"],
    )
    @simulated
    async def test_reads_are_repeated_when_the_failure_may_pass(
        self, name: str, failure: Response | Exception
    ) -> None:
        script = Script(failure, failure, OK)
        await CALLS[name][0](client_of(script))
        assert script.requests == [CALLS[name][1]] * 3

    @pytest.mark.parametrize("name", WRITES)
    @pytest.mark.parametrize("failure", [Unreachable("broke"), refusal(500), refusal(503, 1.0)])
    @simulated
    async def test_a_write_that_may_have_been_carried_out_is_never_repeated(
        self, name: str, failure: Response | Exception
    ) -> None:
        script = Script(failure)
        with pytest.raises(KubeError):
            await CALLS[name][0](client_of(script))
        assert len(script.requests) == 1

    @pytest.mark.parametrize("name", READS + REPEATED_WRITES)
    @pytest.mark.parametrize(
        "failure", [Unreachable("refused", sent=False), refusal(429, 1.0)], ids=["refused", "429"]
    )
    @simulated
    async def test_what_was_certainly_not_carried_out_is_repeated(
        self, name: str, failure: Response | Exception
    ) -> None:
        script = Script(failure, OK)
        await CALLS[name][0](client_of(script))
        assert script.requests == [CALLS[name][1]] * 2

    @pytest.mark.parametrize(
        ("failure", "raised"),
        [
            (refusal(429), TooManyRequests),
            (refusal(429, 10.0), TooManyRequests),
            (Unreachable("refused", sent=False), Unreachable),
            (refusal(500), ServerError),
        ],
    )
    @simulated
    async def test_an_eviction_is_never_repeated(
        self, failure: Response | Exception, raised: type[Exception]
    ) -> None:
        script = Script(failure)
        with pytest.raises(raised):
            await client_of(script).evict(PODS, "p", "ns")
        assert len(script.requests) == 1

    @pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422, 429])
    @pytest.mark.parametrize("name", ["get", "create"])
    @simulated
    async def test_what_would_fail_again_is_not_repeated(self, name: str, code: int) -> None:
        script = Script(refusal(code))
        with pytest.raises(ApiError, match=f"answer {code}"):
            await CALLS[name][0](client_of(script))
        assert len(script.requests) == 1

    @simulated
    async def test_the_waits_grow(self) -> None:
        script = Script(*[Unreachable("away")] * 4, OK)
        await GET(client_of(script))
        assert script.times == pytest.approx([0, 0.1, 0.3, 0.7, 1.5])

    @simulated
    async def test_the_fifth_failure_is_the_caller_s(self) -> None:
        script = Script(*[Unreachable("away")] * 5)
        with pytest.raises(Unreachable):
            await GET(client_of(script))
        assert len(script.requests) == 5

    @pytest.mark.parametrize(("retry_after", "waited"), [(7.0, 7.0), (0.0, 0.1), (0.05, 0.1)])
    @pytest.mark.parametrize("code", [429, 503])
    @simulated
    async def test_the_server_s_wish_is_respected(
        self, code: int, retry_after: float, waited: float
    ) -> None:
        script = Script(refusal(code, retry_after), OK)
        await GET(client_of(script))
        assert script.times == pytest.approx([0, waited])

    @simulated
    async def test_a_cancelled_wait_is_over(self) -> None:
        script = Script(refusal(429, 3600.0))
        asking = asyncio.ensure_future(GET(client_of(script)))
        await asyncio.sleep(1)
        asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled()
        assert now() == 1


class TestPages:
    @staticmethod
    def page(*names: str, token: str = "") -> Response:
        items = [{"metadata": {"name": name, "namespace": "ns"}} for name in names]
        metadata = {"resourceVersion": "9", "continue": token}
        return Response(200, msgspec.json.encode({"metadata": metadata, "items": items}))

    @simulated
    async def test_a_list_goes_on_until_its_last_page(self) -> None:
        script = Script(self.page("a", "b", token="t1"), self.page("c", token="t2"), self.page("d"))
        listed = await client_of(script).list(PODS, "ns", labels="x=y")
        assert [item.metadata.name for item in listed.items] == ["a", "b", "c", "d"]
        assert (listed.resource_version, listed.continue_token) == ("9", "")
        asked = {"labelSelector": "x=y", "limit": "500"}
        assert [request.query for request in script.requests] == [
            asked,
            asked | {"continue": "t1"},
            asked | {"continue": "t2"},
        ]

    @simulated
    async def test_pages_are_asked_for_one_by_one(self) -> None:
        script = Script(self.page("a", token="t1"), self.page("b"))
        pages = client_of(script).pages(PODS, limit=1)
        assert [item.metadata.name for item in (await anext(pages)).items] == ["a"]
        assert len(script.requests) == 1
        assert [item.metadata.name for item in (await anext(pages)).items] == ["b"]
        assert [request.query["limit"] for request in script.requests] == ["1", "1"]

    @simulated
    async def test_the_present_version_is_that_of_the_list_whatever_its_objects_are(self) -> None:
        body = b'{"metadata": {"resourceVersion": "12", "continue": "t"}, "items": [{"odd": 1}]}'
        script = Script(Response(200, body))
        found = await client_of(script).present_version(PODS, "ns", fields="metadata.name=p")
        assert found == "12"
        query = {"fieldSelector": "metadata.name=p", "limit": "1"}
        path = "/api/v1/namespaces/ns/pods"
        assert script.requests == [Request("GET", path, query, timeout=10)]

    @simulated
    async def test_the_present_version_is_asked_for_once(self) -> None:
        script = Script(refusal(503), Response(200, b"{}"))
        with pytest.raises(ServerError):
            await client_of(script).present_version(PODS)
        assert len(script.requests) == 1

    @simulated
    async def test_a_list_that_is_too_old_to_go_on_with(self) -> None:
        with pytest.raises(Gone):
            await client_of(Script(self.page("a", token="t1"), refusal(410))).list(PODS)


def line(kind: str, name: str, version: int) -> bytes:
    obj = {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version)}}
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


class TestWatch:
    LINES = (line("ADDED", "a", 1), line("MODIFIED", "a", 2), line("DELETED", "a", 3))

    @staticmethod
    async def seen(chunks: Iterable[bytes]) -> list[tuple[str, str]]:
        found: list[WatchEvent[Json]] = []
        async with client_of(Script(chunks=chunks)).watch(objects.PODS) as events:
            found = [event async for event in events]
        return [(event.type, event.resource_version) for event in found]

    @pytest.mark.parametrize("size", [1, 2, 7, 50, 100, 10_000])
    @simulated
    async def test_events_are_whole_however_the_network_cuts_them(self, size: int) -> None:
        body = b"".join(self.LINES)
        chunks = [body[at : at + size] for at in range(0, len(body), size)]
        assert await self.seen(chunks) == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "3")]

    @pytest.mark.parametrize("cut", [1, 20, len(LINES[2]) - 1])
    @simulated
    async def test_a_last_event_that_was_cut_off_is_dropped(self, cut: int) -> None:
        chunks = [*self.LINES[:2], self.LINES[2][:cut]]
        assert await self.seen(chunks) == [("ADDED", "1"), ("MODIFIED", "2")]

    @pytest.mark.parametrize(
        ("options", "query"),
        [
            ({}, {}),
            ({"resource_version": "7"}, {"resourceVersion": "7"}),
            ({"timeout": 300}, {"timeoutSeconds": "300"}),
            (
                {"labels": "a=b", "fields": "c=d"},
                {"labelSelector": "a=b", "fieldSelector": "c=d"},
            ),
        ],
    )
    @simulated
    async def test_what_is_asked_for(self, options: Json, query: dict[str, str]) -> None:
        script = Script()
        async with client_of(script).watch(PODS, "ns", silence=42, **options) as events:
            assert [event async for event in events] == []
        assert script.requests == [
            Request(
                "GET",
                "/api/v1/namespaces/ns/pods",
                {"watch": "true", "allowWatchBookmarks": "true"} | query,
                content_type=JSON,
                timeout=42,
            )
        ]

    @simulated
    async def test_a_refused_watch_is_raised_before_it_begins(self) -> None:
        script = Script(chunks=[refusal(403).body[:10], refusal(403).body[10:]])
        script.stream_status = 403
        entered = False
        with pytest.raises(Forbidden, match="answer 403"):
            async with client_of(script).watch(PODS):
                entered = True
        assert not entered

    @simulated
    async def test_an_event_that_cannot_be_read(self) -> None:
        with pytest.raises(Undecodable, match="not a watch event"):
            await self.seen([self.LINES[0], b"<html>\n"])
