"""`intact uninstall`."""

import asyncio

import click

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.operator.install.uninstall import uninstall as remove


def uninstall(cluster: Cluster, namespace: str, *, crds: bool) -> None:
    asyncio.run(_uninstall(cluster, namespace, crds=crds))


async def _uninstall(cluster: Cluster, namespace: str, *, crds: bool) -> None:
    # A process outside the cluster has used the namespace of the context.
    async with session(cluster) as (client, outside):
        await remove(client, namespace, outside=outside, crds=crds, say=click.echo)
