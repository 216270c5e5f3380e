"""Keeps Intact from writing anything into a cluster whose API server is too old for it."""

import asyncio
import logging

import msgspec

from intact.kube.client import Client
from intact.kube.errors import Forbidden, KubeError, NotFound
from intact.kube.server_version import refusal, server_version
from intact.operator.errors import StartError

log = logging.getLogger(__name__)

_ASK_AGAIN = 2.0


async def refuse_old_server(client: Client) -> None:
    """A server that does not tell its version is taken to be new enough.

    Raises `StartError`, and `KubeError`.
    """
    try:
        version = await server_version(client)
    except (Forbidden, NotFound, msgspec.DecodeError) as error:
        log.warning("the API server does not tell its version: %s", error)
        return
    if why := refusal(version):
        raise StartError(f"the API server is of version {why}")


async def wait_and_refuse_old_server(client: Client) -> None:
    """A server that does not answer is asked again.

    Raises `StartError`.
    """
    while True:
        try:
            return await refuse_old_server(client)
        except KubeError as error:
            log.warning("cannot ask the API server for its version, trying again: %s", error)
            await asyncio.sleep(_ASK_AGAIN)
