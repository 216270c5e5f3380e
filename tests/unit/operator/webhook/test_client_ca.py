"""The CA of the webhooks' clients: who is let in, and what happens when the file changes."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import aiohttp
import msgspec
import pytest

from intact.kube.client import Client
from intact.model.admission import AdmissionResponse
from intact.operator.errors import StartError
from intact.operator.webhook import certificates as module
from intact.operator.webhook.certificates import Certificates
from intact.operator.webhook.client_ca import ClientCa
from intact.operator.webhook.server import serving_webhooks
from intact.sandbox import MemoryApi
from tests.support.admission import review
from tests.support.client_certificates import ClientAuthority

HOST = "127.0.0.1"


async def allow(_: msgspec.Raw) -> AdmissionResponse:
    return AdmissionResponse(allowed=True)


async def answered(url: str, bundle: bytes, pair: Path | None) -> int | None:
    """The status; None if the connection was refused."""
    context = ssl.create_default_context(cadata=bundle.decode())
    if pair is not None:
        context.load_cert_chain(pair)
    with suppress(aiohttp.ClientError, OSError):
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client,
            client.post(url, data=review()) as answer,
        ):
            return answer.status
    return None


async def test_only_clients_with_a_certificate_of_the_ca_are_answered_also_after_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = ClientAuthority(), ClientAuthority()
    first, second = (each.pair(tmp_path / f"{n}.pem") for n, each in enumerate((one, two)))
    file = tmp_path / "ca.crt"
    file.write_bytes(one.certificate)
    client_ca = ClientCa(str(file))
    served = Certificates(Client(MemoryApi()), "default", [HOST], client_ca=client_ca)
    await served.refresh()
    bundle = served.ca_bundle
    monkeypatch.setattr(module, "CHECK_EVERY", 0.01)
    async with serving_webhooks({"/gate": allow}, HOST, 0, lambda: served.context) as [address]:
        url = f"https://{address}/gate"
        assert await answered(url, bundle, first) == 200
        assert await answered(url, bundle, second) is None
        assert await answered(url, bundle, None) is None
        running = asyncio.create_task(served.run())
        file.write_bytes(b"nonsense")
        while client_ca.error is None:
            await asyncio.sleep(0.01)
        assert await answered(url, bundle, first) == 200, "what the file had before holds"
        assert "cannot be used" in caplog.text
        file.write_bytes(two.certificate)
        while await answered(url, bundle, second) != 200:
            await asyncio.sleep(0.01)
        assert await answered(url, bundle, first) is None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("content", [None, b"", b"nonsense", b"\xff"])
def test_a_file_that_cannot_be_used_is_one_line_at_the_start(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StartError, match=f"--webhook-client-ca {file}: "):
        ClientCa(str(file))


def test_a_bundle_of_several_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(ClientAuthority().certificate + ClientAuthority().certificate)
    assert ClientCa(str(file)).reload() is False
