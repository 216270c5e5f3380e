"""The pages that are served over plain HTTP: `/healthz`, `/readyz`, `/metrics`."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from intact.operator.listening import Limits, connection_of, listening

Check = Callable[[], str | None]
"""Returns what is wrong, or None."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_LIMITS = Limits(silent=512, unproven=256, proven=64)
"""Enough for a kubelet and some scrapers, whoever else connects."""
_KEEP_ALIVE = 75.0


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

    app = web.Application(middlewares=[_prove])
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", show_metrics)
    return app


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncGenerator[list[str], None]:
    """Serve while the block runs. Yields the addresses: port 0 takes any port that is free."""
    async with listening(app, host, port, limits=_LIMITS, keep_alive=_KEEP_ALIVE) as (_, addresses):
        yield addresses


@web.middleware
async def _prove(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Whoever asks for a page is welcome to keep the connection."""
    with connection_of(request).proven():
        return await handler(request)
