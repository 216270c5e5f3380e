"""The TLS server that answers the API server's admission reviews.

It knows only the envelope: a handler gets the raw request and decodes what it needs. Every failure
is an HTTP error, on which the API server follows the webhook's failurePolicy: ours refuse.
"""

import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from intact.model.admission import AdmissionResponse
from intact.model.base import View
from intact.operator.http import listen

log = logging.getLogger(__name__)

Handler = Callable[[msgspec.Raw], Awaitable[AdmissionResponse]]
"""Takes the `request` of an AdmissionReview."""

_LARGEST_REVIEW = 16 * 2**20
"""A review carries an object twice, and the API server takes requests of 3 MiB."""
_KEEP_ALIVE = 120.0
"""Longer than the API server keeps an idle connection (90 s), so that it is never the server that
closes one just as a request arrives."""
_FINISH = 30.0
"""Seconds that running reviews get at the end. The API server gives up after 10."""

_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"


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


_REVIEW = msgspec.json.Decoder(_Review)
_IDENTITY = msgspec.json.Decoder(_Identity)


def application(handlers: Mapping[str, Handler]) -> web.Application:
    app = web.Application(client_max_size=_LARGEST_REVIEW)
    for path, handler in handlers.items():
        app.router.add_post(path, _endpoint(path, handler))
    return app


def _endpoint(path: str, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(http: web.Request) -> web.Response:
        body = await http.read()
        try:
            review = _REVIEW.decode(body)
            uid = _IDENTITY.decode(review.request).uid
        except msgspec.DecodeError as error:
            return _refused(path, f"not an AdmissionReview: {error}")
        if (review.api_version, review.kind) != (_API_VERSION, _KIND):
            return _refused(
                path,
                f"{review.kind} of {review.api_version} is not supported; send admission.k8s.io/v1",
            )
        try:
            response = await handler(review.request)
        except Exception:
            log.exception("%s: the admission review %s failed", path, uid)
            return web.Response(
                status=500, text="the admission review failed; see the log of Intact\n"
            )
        reply = _Answer(response=msgspec.structs.replace(response, uid=uid))
        return web.Response(body=msgspec.json.encode(reply), content_type="application/json")

    return answer


def _refused(path: str, problem: str) -> web.Response:
    log.warning("%s: %s", path, problem)
    return web.Response(status=400, text=f"{problem}\n")


@asynccontextmanager
async def serving_webhooks(
    handlers: Mapping[str, Handler], host: str, port: int, context: ssl.SSLContext
) -> AsyncGenerator[list[str], None]:
    """Serve while the block runs; reviews that are running at its end are finished.

    Yields the addresses: port 0 takes any port that is free. Several processes may share one port:
    outside a cluster there is no Service in front of them.
    """
    runner = web.AppRunner(
        application(handlers),
        access_log=None,
        keepalive_timeout=_KEEP_ALIVE,
        shutdown_timeout=_FINISH,
    )
    await runner.setup()
    try:
        yield await listen(runner, host, port, context=context, shared=True)
    finally:
        await runner.cleanup()
