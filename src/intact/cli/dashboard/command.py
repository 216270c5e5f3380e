"""`intact dashboard`: serves the page until Ctrl-C."""

import asyncio
import webbrowser
from contextlib import AsyncExitStack
from pathlib import Path

import click

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster, Source, from_file
from intact.cli.options import Cluster
from intact.cli.session import session


def dashboard(cluster: Cluster, port: int, source: str | None, *, opened: bool) -> None:
    still = from_file(Path(source)) if source is not None else None
    try:
        asyncio.run(_serve(cluster, port, still, opened=opened))
    except KeyboardInterrupt:
        click.echo("stopped")
    except OSError as error:
        raise click.ClickException(f"port {port}: {error.strerror}") from None


async def _serve(cluster: Cluster, port: int, still: Source | None, *, opened: bool) -> None:
    async with AsyncExitStack() as stack:
        page = Dashboard(still or await _live(stack, cluster))
        await stack.enter_async_context(page.serving(port))
        click.echo(f"open {page.address}")
        if opened:
            webbrowser.open(page.address)
        await asyncio.Event().wait()


async def _live(stack: AsyncExitStack, cluster: Cluster) -> Source:
    client, _namespace = await stack.enter_async_context(session(cluster))
    return LiveCluster(client, cluster.context or "cluster")
