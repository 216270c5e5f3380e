"""An API server in memory that commands reach over HTTP, with a kubeconfig of its own."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web
from click.testing import CliRunner, Result

from intact.cli.main import main
from intact.kube.transport import Request, Response
from intact.sandbox import MemoryApi


@asynccontextmanager
async def served(
    api: MemoryApi,
    directory: Path,
    *,
    instead: Callable[[Request], Response | None] = lambda _request: None,
) -> AsyncGenerator[str, None]:
    """Yields the path of a kubeconfig. `instead` sees every request first, and may answer it."""

    async def answer(http: web.Request) -> web.StreamResponse:
        body = await http.read()
        request = Request(http.method, http.path, dict(http.query), body, http.content_type)
        if given := instead(request):
            return web.Response(
                status=given.status, body=given.body, content_type="application/json"
            )
        if "watch" in http.query:
            return await _stream(api, request, http)
        response = await api.send(request)
        return web.Response(
            status=response.status, body=response.body, content_type="application/json"
        )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server = f"http://127.0.0.1:{runner.addresses[0][1]}"
    content = {
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
    }
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_bytes(msgspec.yaml.encode(content))
    try:
        yield str(kubeconfig)
    finally:
        await runner.cleanup()


async def _stream(api: MemoryApi, request: Request, http: web.Request) -> web.StreamResponse:
    async with api.stream(request) as stream:
        response = web.StreamResponse(status=stream.status)
        await response.prepare(http)
        async for chunk in stream.chunks:
            if http.transport is None or http.transport.is_closing():
                break
            await response.write(chunk)
    return response


async def invoked(*arguments: str, answers: str = "") -> Result:
    """Runs a command beside the server, in a thread: a command has an event loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, main, arguments, input=answers)
