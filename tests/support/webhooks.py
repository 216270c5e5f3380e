"""A real admission webhook server on loopback, and its registration with a real API server."""

import asyncio
import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from devcluster.certificates import Authority
from devcluster.ports import LOOPBACK

Hook = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class WebhookServer:
    """Answers POST /<name> with the answer of the hook of that name."""

    def __init__(self) -> None:
        self.hooks: dict[str, Hook] = {}
        self.ca_bundle = ""
        self.port = 0

    def client_config(self, name: str) -> dict[str, str]:
        return {"url": f"https://{LOOPBACK}:{self.port}/{name}", "caBundle": self.ca_bundle}

    async def _review(self, request: web.Request) -> web.Response:
        review = await request.json()
        answer = await self.hooks[request.match_info["name"]](review["request"])
        return web.json_response(
            {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": {"uid": review["request"]["uid"], **answer},
            }
        )


@asynccontextmanager
async def webhook_server() -> AsyncIterator[WebhookServer]:
    server = WebhookServer()
    context, bundle = _certificate()
    server.ca_bundle = base64.b64encode(bundle).decode()
    app = web.Application()
    app.router.add_post("/{name}", server._review)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0, ssl_context=context).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await asyncio.wait_for(runner.cleanup(), 120)


def _certificate() -> tuple[ssl.SSLContext, bytes]:
    """A context for a server on loopback, and the CA that signed its certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(Path(directory, "pki"))
        pair = authority.server("webhooks", LOOPBACK)
        context.load_cert_chain(pair.certificate, pair.key)
        return context, authority.pair.certificate.read_bytes()
