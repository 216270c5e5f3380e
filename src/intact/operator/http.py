"""Listening on an address, and the pages that are served over plain HTTP: `/healthz`, `/readyz`,
`/metrics`."""

import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from intact.operator.errors import StartError

Check = Callable[[], str | None]
"""Returns what is wrong, or None."""


def application(checks: dict[str, Check], render_metrics: Callable[[], bytes]) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        """Alive: the event loop answers. An unreachable cluster is no reason to restart."""
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        results = {name: check() for name, check in checks.items()}
        lines = [
            f"[-] {name}: {problem}" if problem else f"[+] {name} ok"
            for name, problem in results.items()
        ]
        ready = not any(results.values())
        lines.append("ready" if ready else "not ready")
        return web.Response(text="\n".join(lines) + "\n", status=200 if ready else 503)

    async def show_metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=render_metrics(), headers={"Content-Type": "text/plain; version=0.0.4"}
        )

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", show_metrics)
    return app


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncGenerator[list[str], None]:
    """Serve while the block runs. Yields the addresses: port 0 takes any port that is free."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        yield await listen(runner, host, port)
    finally:
        await runner.cleanup()


async def listen(
    runner: web.AppRunner,
    host: str,
    port: int,
    *,
    context: ssl.SSLContext | None = None,
    shared: bool = False,
) -> list[str]:
    """Returns the addresses: port 0 takes any port that is free. Several processes may listen on a
    shared port; the kernel spreads connections among them. Raises `StartError`."""
    site = web.TCPSite(runner, host, port, ssl_context=context, reuse_port=shared or None)
    try:
        await site.start()
    except OSError as error:
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error)
        raise StartError(f"cannot listen on {host}:{port}: {reason}") from error
    return [f"{address[0]}:{address[1]}" for address in runner.addresses]
