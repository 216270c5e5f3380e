"""The process: connects, stands for election, watches, serves, and ends cleanly."""

import asyncio
import logging
import os
import signal
import socket
import uuid
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from intact.kube.client import Client
from intact.kube.config import Config
from intact.kube.http import HttpTransport
from intact.kube.lease import Election
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS
from intact.kube.store import Store
from intact.operator import health
from intact.operator.metrics import Metrics

log = logging.getLogger(__name__)

LEASE = "intact"


@dataclass(frozen=True, slots=True)
class Options:
    config: Config
    http_host: str
    http_port: int


async def run(options: Options) -> None:
    """Runs until SIGTERM or SIGINT."""
    transport = HttpTransport(options.config)
    async with Client(transport) as client:
        # A config that can never work ends the process here; a server that is away is waited for.
        await transport.prepare()
        reflector = Reflector(client, PODS, Store())
        election = Election(client, options.config.namespace, LEASE, _identity())
        app = health.application(
            {"pods": lambda: _problem_of(reflector), "lease": lambda: election.error},
            Metrics([reflector], election),
        )
        async with health.serving(app, options.http_host, options.http_port) as addresses:
            log.info("serving http on %s", ", ".join(addresses))
            async with _background(reflector.run(), election.run(_lead)):
                await _terminated()
                log.info("stopping")


async def _lead() -> None:
    """There is nothing to lead yet but the lease itself."""
    await asyncio.Event().wait()


def _problem_of(reflector: Reflector[Any]) -> str | None:
    if reflector.error:
        return reflector.error
    return None if reflector.store.synced else "not listed yet"


def _identity() -> str:
    """Unique for each process: a restarted container keeps its host name."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"


@asynccontextmanager
async def _background(*parts: Coroutine[Any, Any, None]) -> AsyncGenerator[None, None]:
    """Run the parts beside the block. If one fails, all end, with its error."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part) for part in parts]
        yield
        for task in tasks:
            task.cancel()


async def _terminated() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
