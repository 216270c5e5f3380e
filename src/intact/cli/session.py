"""A client for commands that ask a cluster; what goes wrong is one line."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from intact.kube import config as kube_config
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.http import HttpTransport


@asynccontextmanager
async def asking(
    kubeconfig: str | None, context: str | None, namespace: str | None
) -> AsyncGenerator[tuple[Client, str], None]:
    """The client, and the namespace: as given, else the context's."""
    try:
        config = kube_config.load(kubeconfig, context)
        async with Client(HttpTransport(config)) as client:
            yield client, namespace or config.namespace
    except KubeError as error:
        raise click.ClickException(str(error)) from None
