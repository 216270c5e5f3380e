"""`intact uninstall`."""

import asyncio

import click

from intact.kube import config as kube_config
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.http import HttpTransport
from intact.operator.install.uninstall import uninstall as remove


def uninstall(kubeconfig: str | None, context: str | None, namespace: str, crds: bool) -> None:
    try:
        config = kube_config.load(kubeconfig, context)
        asyncio.run(_uninstall(config, namespace, crds))
    except KubeError as error:
        raise click.ClickException(str(error)) from None


async def _uninstall(config: kube_config.Config, namespace: str, crds: bool) -> None:
    async with Client(HttpTransport(config)) as client:
        await remove(client, namespace, outside=config.namespace, crds=crds, say=click.echo)
