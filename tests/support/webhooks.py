"""A real admission webhook server on loopback, and its registration with a real API server."""

import asyncio
import base64
import datetime
import ipaddress
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Hook = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class WebhookServer:
    """Answers POST /<name> with what the hook of that name says to the review's request."""

    def __init__(self) -> None:
        self.hooks: dict[str, Hook] = {}
        self.ca_bundle = ""
        self.port = 0

    def client_config(self, name: str) -> dict[str, str]:
        return {"url": f"https://127.0.0.1:{self.port}/{name}", "caBundle": self.ca_bundle}

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
    context, certificate = _self_signed()
    server.ca_bundle = base64.b64encode(certificate).decode()
    app = web.Application()
    app.router.add_post("/{name}", server._review)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await asyncio.wait_for(runner.cleanup(), 120)


def _self_signed() -> tuple[ssl.SSLContext, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "contract")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "both.pem")
        path.write_bytes(certificate + pem)
        context.load_cert_chain(path)
    return context, certificate
