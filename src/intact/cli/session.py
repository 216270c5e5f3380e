"""A client for the time of one command. What goes wrong is said in one line."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from intact.cli.options import Cluster
from intact.kube import config as kube_config
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.http import HttpTransport


@asynccontextmanager
async def session(cluster: Cluster) -> AsyncGenerator[tuple[Client, str], None]:
    """The client, and the namespace to work in: the one given, else the context's."""
    try:
        config = kube_config.load(cluster.kubeconfig, cluster.context)
        async with Client(HttpTransport(config)) as client:
            yield client, cluster.namespace or config.namespace
    except KubeError as error:
        raise click.ClickException(str(error)) from None
