"""The TLS server that answers the API server's admission reviews.

It knows only the envelope: a handler gets the raw request and decodes what it needs. Every failure
is an HTTP error, on which the API server follows the webhook's failurePolicy: ours refuse.

Strangers reach this port. What they send is refused as early as possible: by its path, before its
body is read; compressed bodies are never inflated. What goes wrong is told once a minute for each
path and problem, however often it does.
"""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
from aiohttp import web

from intact.kube.nesting import read_deep, without_depth
from intact.model.admission import AdmissionResponse
from intact.model.base import View
from intact.operator.listening import Limits, Port, connection_of, listening

log = logging.getLogger(__name__)

Handler = Callable[[msgspec.Raw], Awaitable[AdmissionResponse]]
"""Takes the `request` of an AdmissionReview."""

Route = Callable[[str], Awaitable[str | None]]
"""From the path of a request to that of a handler; None if it is not to be answered."""

_LARGEST_REVIEW = 16 * 2**20
"""A review carries an object twice. The API server takes requests of 3 MiB and etcd stores 1.5 MiB
of an object, which may become a few times longer as JSON."""
_LARGE = 2**20
_LARGE_AT_ONCE = 4
"""Reviews above `_LARGE` bytes that are read and answered at once, so that a process keeps within
its memory."""
_BODY = 10.0
"""Seconds for a body. The API server waits no longer for the answer."""
_SHOWN = 100
"""Characters of what a stranger sent that are shown."""
_TOLD_EVERY = 60.0
"""Seconds between two lines of the log about the same problem."""
_LIMITS = Limits()
_KEEP_ALIVE = 120.0
"""Longer than the API server keeps an idle connection (90 s), so that it is never the server that
closes one just as a request arrives."""
_FINISH = 30.0
"""Seconds that running reviews get at the end. The API server gives up after 10."""

_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"


class Served(list[str]):
    """The addresses of a port that is served."""

    def __init__(self, addresses: list[str], port: Port) -> None:
        super().__init__(addresses)
        self.port = port


class _Identity(View):
    uid: str


class _Review(View):
    api_version: str
    kind: str
    request: msgspec.Raw


class _Answer(View, omit_defaults=False):
    response: AdmissionResponse
    api_version: str = _API_VERSION
    kind: str = _KIND


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoder raises: the last two of bytes that are no UTF-8, and of deep nesting."""
_REVIEW = msgspec.json.Decoder(_Review)
_IDENTITY = msgspec.json.Decoder(_Identity)


class Problems:
    """What went wrong with reviews, for the log: each problem of a path once a minute."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], float] = {}
        self._untold: Counter[tuple[str, str]] = Counter()

    def tell(self, path: str, problem: str, text: str, *, error: Exception | None = None) -> None:
        """`problem` is one of a few for each path; `text` may have parts of what was sent, and is
        that of the first of a minute."""
        key, now = (path, problem), asyncio.get_running_loop().time()
        if now < self._told.get(key, float("-inf")) + _TOLD_EVERY:
            self._untold[key] += 1
            return
        self._told[key] = now
        if more := self._untold.pop(key, 0):
            text += f" (and {more} more times since the last such line)"
        level = logging.WARNING if error is None else logging.ERROR
        log.log(level, "%s: %s", path, text, exc_info=error)


async def plain(path: str) -> str | None:
    """Every path is its own."""
    return path


def application(
    handlers: Mapping[str, Handler], route: Route = plain, refused: Counter[str] | None = None
) -> web.Application:
    counts: Counter[str] = Counter() if refused is None else refused
    large, problems = asyncio.Semaphore(_LARGE_AT_ONCE), Problems()

    def refuse(reason: str, status: int, problem: str) -> web.Response:
        """What has come of the body is dropped. A connection that is not proven ends soon: until
        then another request on it costs less than another handshake."""
        counts[reason] += 1
        answer = web.Response(status=status, text=f"{problem}\n")
        if reason != "path":
            answer.force_close()
        return answer

    async def answer(http: web.Request) -> web.Response:
        path = await route(http.path)
        handler = None if path is None else handlers.get(path)
        if path is None or handler is None:
            return refuse("path", 404, "not found")
        if http.method != "POST":
            return refuse("method", 405, "reviews are posted")
        if http.headers.get("Content-Encoding", "identity").lower() != "identity":
            return refuse("encoding", 415, "a review is not compressed")
        length = http.content_length
        if length is not None and length > _LARGEST_REVIEW:
            return refuse("size", 413, f"a review has at most {_LARGEST_REVIEW} bytes")
        async with AsyncExitStack() as held:
            held.enter_context(connection_of(http).proven())
            try:
                async with asyncio.timeout(_BODY):
                    if length is None or length > _LARGE:
                        await held.enter_async_context(large)
                    body = await http.read()
            except TimeoutError:
                return refuse("slow", 408, f"the review did not come within {_BODY:g} s")
            except web.HTTPRequestEntityTooLarge:
                return refuse("size", 413, f"a review has at most {_LARGEST_REVIEW} bytes")
            return await reviewed(path, handler, body, problems)

    app = web.Application(client_max_size=_LARGEST_REVIEW)
    app.router.add_route("*", "/{path:.*}", answer)
    return app


async def reviewed(path: str, handler: Handler, body: bytes, problems: Problems) -> web.Response:
    """The answer to the body of one request."""

    def refused(problem: str, text: str) -> web.Response:
        problems.tell(path, problem, text)
        return web.Response(status=400, text=f"{text}\n")

    try:
        review = _read_review(body)
        uid = _IDENTITY.decode(review.request).uid
    except _UNREADABLE as error:
        return refused("envelope", f"not an AdmissionReview: {error}")
    if (review.api_version, review.kind) != (_API_VERSION, _KIND):
        kind = f"{review.kind} of {review.api_version}"[:_SHOWN]
        return refused("version", f"{kind} is not supported; send admission.k8s.io/v1")
    try:
        response = await _answered(handler, review.request)
    except _UNREADABLE as error:
        return refused(
            "shape", f"the review has another shape than those of an API server: {error}"
        )
    except Exception as error:  # noqa: BLE001 - told with its traceback
        said = f"the admission review {uid[:_SHOWN]} failed"
        problems.tell(path, type(error).__name__, said, error=error)
        return web.Response(status=500, text="the admission review failed; see the log of Intact\n")
    reply = _Answer(response=msgspec.structs.replace(response, uid=uid))
    return web.Response(body=msgspec.json.encode(reply), content_type="application/json")


def _read_review(body: bytes) -> _Review:
    """A pod that nests deeply, which anyone may create, must not be there for good. Large bodies
    are not searched: that would hold up others."""
    return _REVIEW.decode(body) if len(body) > _LARGE else read_deep(_REVIEW.decode, body)


async def _answered(handler: Handler, request: msgspec.Raw) -> AdmissionResponse:
    """A handler reads the request before all else, on a deeper stack."""
    try:
        return await handler(request)
    except RecursionError:
        return await handler(msgspec.Raw(without_depth(bytes(request))))


@asynccontextmanager
async def serving_webhooks(
    handlers: Mapping[str, Handler],
    host: str,
    port: int,
    context: ssl.SSLContext | Callable[[], ssl.SSLContext],
    *,
    route: Route = plain,
    limits: Limits = _LIMITS,
    refused: Counter[str] | None = None,
) -> AsyncGenerator[Served, None]:
    """Serve while the block runs; reviews that are running at its end are finished.

    Yields the addresses: port 0 takes any port that is free. Several processes may share one port:
    outside a cluster there is no Service in front of them.
    """
    async with listening(
        application(handlers, route, refused),
        host,
        port,
        limits=limits,
        keep_alive=_KEEP_ALIVE,
        finish=_FINISH,
        context=context if callable(context) else lambda: context,
        shared=True,
    ) as (served, addresses):
        yield Served(addresses, served)
