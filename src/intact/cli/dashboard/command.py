"""`intact dashboard`: serves the page until Ctrl-C."""

import asyncio
import signal
import webbrowser
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from threading import Thread

import click

from intact.cli.dashboard.server import Dashboard
from intact.cli.dashboard.sources import LiveCluster, Source, from_file
from intact.cli.options import Cluster
from intact.cli.session import session
from intact.kube import config as kube_config


def dashboard(
    cluster: Cluster, port: int, file: str | None, *, opened: bool, sandbox: bool = False
) -> None:
    with suppress(ValueError):  # only the main thread gets signals
        # A shell without job control has SIGINT ignored by what it starts in the background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        asyncio.run(_serve(cluster, port, _source(file, sandbox=sandbox), opened=opened))
    except KeyboardInterrupt:
        click.echo("stopped")


def _source(file: str | None, *, sandbox: bool) -> Source | None:
    """None for the cluster, which takes a client."""
    if sandbox:
        from intact.cli.dashboard.show import Show  # noqa: PLC0415 - it takes its time

        return Show()
    return from_file(Path(file)) if file is not None else None


async def _serve(cluster: Cluster, port: int, source: Source | None, *, opened: bool) -> None:
    async with AsyncExitStack() as stack:
        page = Dashboard(source or await _live(stack, cluster))
        await stack.enter_async_context(page.serving(port))
        click.echo(f"open {page.address}")
        if opened:
            # A browser in the terminal returns only when it ends, and reads the page before.
            Thread(target=webbrowser.open, args=(page.address,), daemon=True).start()
        await page.run()


async def _live(stack: AsyncExitStack, cluster: Cluster) -> Source:
    client, _namespace = await stack.enter_async_context(session(cluster))
    title = kube_config.load(cluster.kubeconfig, cluster.context).context or "cluster"
    if cluster.namespace:
        title = f"{title}: {cluster.namespace}"
    return LiveCluster(client, title, cluster.namespace or "")
