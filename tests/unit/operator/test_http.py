"""The pages that are served over plain HTTP."""

import aiohttp
import pytest

from intact.operator.errors import StartError
from intact.operator.http import Check, application, serving

HOST = "127.0.0.1"


async def page(path: str, checks: dict[str, Check] | None = None) -> tuple[int, str, str]:
    app = application(checks or {}, lambda: b"intact_leader 1.0\n")
    async with (
        serving(app, HOST, 0) as [address],
        aiohttp.ClientSession() as client,
        client.get(f"http://{address}{path}") as answer,
    ):
        return answer.status, answer.headers["Content-Type"], await answer.text()


async def test_a_process_that_answers_is_alive_whatever_is_wrong() -> None:
    status, _, text = await page("/healthz", {"lease": lambda: "no answer"})
    assert (status, text) == (200, "ok\n")


async def test_a_process_is_ready_while_nothing_is_wrong() -> None:
    status, _, text = await page("/readyz", {"pods": lambda: None, "lease": lambda: None})
    assert (status, text) == (200, "[+] pods ok\n[+] lease ok\nready\n")


async def test_what_is_wrong_is_named() -> None:
    status, _, text = await page("/readyz", {"pods": lambda: None, "lease": lambda: "no answer"})
    assert (status, text) == (503, "[+] pods ok\n[-] lease: no answer\nnot ready\n")


async def test_metrics_are_in_the_text_format_of_prometheus() -> None:
    status, content_type, text = await page("/metrics")
    assert (status, text) == (200, "intact_leader 1.0\n")
    assert content_type == "text/plain; version=0.0.4"


async def test_a_port_in_use_is_one_line() -> None:
    app = application({}, bytes)
    async with serving(app, HOST, 0) as [address]:
        port = int(address.rpartition(":")[2])
        message = f"cannot listen on {HOST}:{port}: Address already in use"
        with pytest.raises(StartError, match=message):
            async with serving(application({}, bytes), HOST, port):
                pass
