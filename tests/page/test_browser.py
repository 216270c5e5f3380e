"""The browser of these tests sees what they rely on it to see."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from tests.support.browser import Browser

POLICY = {"Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'"}


@asynccontextmanager
async def served(body: str, headers: dict[str, str] | None = None) -> AsyncIterator[str]:
    """The address of a server that has one page."""

    async def answer(_request: web.Request) -> web.Response:
        text = f"<!doctype html><title>A page</title><body>{body}"
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def no_icon(_request: web.Request) -> web.Response:
        return web.Response(status=204)

    app = web.Application()
    app.router.add_get("/", answer)
    app.router.add_get("/favicon.ico", no_icon)  # a page that names none is asked for this one
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        _host, port = runner.addresses[0][:2]
        yield f"http://127.0.0.1:{port}/"
    finally:
        await runner.cleanup()


async def test_a_page_that_does_nothing_wrong(browser: Browser) -> None:
    async with served("<h1>Whole</h1>", POLICY) as url, browser.opened(url) as visit:
        assert await visit.page.title() == "A page"
        assert await visit.page.locator("h1").inner_text() == "Whole"
        assert await visit.complaints() == []


async def test_size_and_colours_are_those_asked_for(browser: Browser) -> None:
    seen = "[innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches]"
    async with served("") as url:
        async with browser.opened(url) as visit:
            assert await visit.page.evaluate(seen) == [1280, 800, False]
        async with browser.opened(url, 390, 844, "dark") as visit:
            assert await visit.page.evaluate(seen) == [390, 844, True]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("console.error('it broke')", "it broke"),
        ("throw new Error('nobody caught it')", "nobody caught it"),
        ("fetch('/missing')", "404"),
    ],
)
async def test_an_error_is_seen(browser: Browser, script: str, error: str) -> None:
    async with served(f"<script>{script}</script>") as url, browser.opened(url) as visit:
        await visit.page.wait_for_load_state("networkidle")
        [complaint] = await visit.complaints()
        assert complaint.startswith("error: ")
        assert error in complaint


async def test_a_violation_of_the_policy_is_seen(browser: Browser) -> None:
    body = "<p style='color: red'>Not red</p>"
    async with served(body, POLICY) as url, browser.opened(url) as visit:
        await visit.complaints()
        assert visit.violations == ["style-src-attr: inline"]


@pytest.mark.parametrize(
    "address", ["http://example.test/a.png", "http://192.0.2.1/a.png", "http://localhost:1/a.png"]
)
async def test_a_request_to_another_host_is_seen_and_fails(browser: Browser, address: str) -> None:
    body = f"<img src='{address}'>"
    async with served(body) as url, browser.opened(url) as visit:
        await visit.complaints()
        assert visit.elsewhere == [address]
        assert await visit.page.evaluate("document.images[0].naturalWidth") == 0


async def test_a_web_socket_to_another_host_is_seen(browser: Browser) -> None:
    body = "<script>new WebSocket('ws://example.test/')</script>"
    async with served(body) as url, browser.opened(url) as visit:
        await visit.complaints()
        assert visit.elsewhere == ["ws://example.test/"]
