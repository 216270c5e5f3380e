"""Chromium, driven by Playwright: opens a page and collects what the page should not do.

A browser lives on the event loop of one test, on which the server under test runs, too.
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser as Chromium
from playwright.async_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebSocket,
    async_playwright,
)
from playwright.async_api import Error as PageError

NAMES = ("chromium", "chromium-browser", "google-chrome")
REBOUND = "rebound.example"
"""A foreign name that leads to this machine."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_FLAGS = (
    "--headless",
    "--no-sandbox",  # tests may run as root, which the sandbox refuses
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever a page asks for, nothing leaves the machine.
    f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND"
    + "".join(f", EXCLUDE {host}" for host in _LOOPBACK),
)
_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", violation =>
    reportViolation(`${violation.effectiveDirective}: ${violation.blockedURI}`));
"""
# What the page did before this is known once it is answered: the browser reports in order.
_PAINTED = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


def executable() -> str | None:
    """The browser that is installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Visit:
    """A page that is open, and what it did that it should not."""

    page: Page
    errors: list[str] = field(default_factory=list)
    """Errors on the console, and exceptions that nothing caught."""
    violations: list[str] = field(default_factory=list)
    """Of its Content-Security-Policy: the directive and what it blocked."""
    elsewhere: list[str] = field(default_factory=list)
    """Addresses of requests to other hosts or ports than the page's."""

    async def complaints(self) -> list[str]:
        """All of these, up to now."""
        await self.page.evaluate(_PAINTED)
        return [
            *(f"error: {each}" for each in self.errors),
            *(f"violation: {each}" for each in self.violations),
            *(f"elsewhere: {each}" for each in self.elsewhere),
        ]

    async def listen(self, context: BrowserContext, home: str) -> None:
        def heard(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.errors.append(message.text)

        def failed(error: PageError) -> None:
            self.errors.append(str(error))

        def violated(_source: Any, text: str) -> None:
            self.violations.append(text)

        def asked(request: Request | WebSocket) -> None:
            address = urlsplit(request.url)
            if address.netloc and address.netloc != home:  # data: and the like have none
                self.elsewhere.append(request.url)

        await context.expose_binding("reportViolation", violated)
        await context.add_init_script(_REPORT_VIOLATIONS)
        context.on("request", asked)
        self.page.on("websocket", asked)
        self.page.on("console", heard)
        self.page.on("pageerror", failed)


@dataclass(frozen=True)
class Browser:
    chromium: Chromium

    @asynccontextmanager
    async def opened(
        self,
        url: str,
        width: int = 1280,
        height: int = 800,
        color_scheme: Literal["light", "dark"] = "light",
    ) -> AsyncIterator[Visit]:
        """The page once it has loaded, in a profile of its own."""
        context = await self.chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=color_scheme
        )
        try:
            visit = Visit(await context.new_page())
            await visit.listen(context, urlsplit(url).netloc)
            await visit.page.goto(url)
            yield visit
        finally:
            await context.close()


@asynccontextmanager
async def launched(path: str) -> AsyncIterator[Browser]:
    """A browser that ends with the block, with all its processes."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield Browser(chromium)
        finally:
            await chromium.close()
