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
from datetime import UTC, datetime
from functools import partial
from typing import Any

from intact.kube.client import Client
from intact.kube.config import Config
from intact.kube.errors import KubeError
from intact.kube.http import HttpTransport
from intact.kube.lease import Election
from intact.kube.reflector import Reflector
from intact.operator import http
from intact.operator.errors import StartError
from intact.operator.install.install import install
from intact.operator.metrics import Metrics
from intact.operator.names import LEASE
from intact.operator.pdb import validation as pdb_validation
from intact.operator.pdb.controller import PdbController
from intact.operator.pub.controller import PubController
from intact.operator.rbg import validation as rbg_validation
from intact.operator.rbg.controller import RbgController
from intact.operator.watch.shared import Watches
from intact.operator.webhook.configuration import (
    GATE_PATH,
    PDB_STATUS_PATH,
    PLACE_PATH,
    VALIDATE_PDB_PATH,
    VALIDATE_PUB_PATH,
    VALIDATE_RBG_PATH,
)
from intact.operator.webhook.server import Handler
from intact.operator.webhook.serving import Webhooks

log = logging.getLogger(__name__)


CONTROLLERS = ("pub", "pdb", "rbg", "disruption")
DEFAULT_CONTROLLERS = ("pub", "pdb", "rbg")
_NO_WEBHOOK = (
    "PodDisruptionBudgets in groups are not held: no webhook is served, for want of "
    "--webhook-bind or --webhook-service"
)


@dataclass(frozen=True, slots=True)
class Options:
    config: Config
    http: tuple[str, int]
    webhook: tuple[str, int] | None = None
    """Where admission reviews are answered; None if they are not."""
    webhook_service: tuple[str, str] | None = None
    """Namespace and name of the Service in front of it."""
    controllers: tuple[str, ...] = DEFAULT_CONTROLLERS
    install: bool = False


async def run(options: Options) -> None:
    """Runs until SIGTERM or SIGINT."""
    if options.controllers == ("pdb",) and options.webhook is None:
        raise StartError(f"{_NO_WEBHOOK}, and there is nothing else to do")
    transport = HttpTransport(options.config)
    stopped = _on_signals()
    async with Client(transport) as client:
        # A config that can never work ends the process here; a server that is away is waited for.
        await transport.prepare()
        if options.install:
            try:
                await install(client)
            except KubeError as error:
                raise StartError(f"cannot install: {error}") from error
        identity = _identity()
        election = Election(client, options.config.namespace, LEASE, identity)
        process = Process(client, options, election, identity)
        app = http.application(process.checks(), process.metrics.render)
        async with http.serving(app, *options.http) as addresses:
            log.info("serving http on %s", ", ".join(addresses))
            if "pdb" in options.controllers and options.webhook is None:
                log.warning("%s", _NO_WEBHOOK)
            async with _background(*process.parts()):
                await stopped.wait()
                log.info("stopping")


class Process:
    """The parts of one process, put together."""

    def __init__(self, client: Client, options: Options, election: Election, identity: str) -> None:
        self._election = election
        self._watches = Watches(client)
        self._pub: PubController | None = None
        self._pdb: PdbController | None = None
        self._rbg: RbgController | None = None
        self.webhooks: Webhooks | None = None
        self.metrics = Metrics(election)
        handlers: dict[str, Handler] = {}
        if "pub" in options.controllers:
            self._pub = PubController(
                client,
                identity,
                now=_now,
                leads=lambda: election.leads,
                observe=self.metrics.observe,
                watches=self._watches,
            )
            handlers[GATE_PATH] = self.metrics.timed(self._pub.gate.review)
            handlers[VALIDATE_PUB_PATH] = self._pub.validation.review
            self.metrics.show_pub(self._pub)
        # Groups are held by a webhook, or not at all.
        groups = "pdb" in options.controllers and options.webhook is not None
        disruption = "disruption" in options.controllers
        if groups or disruption:
            self._pdb = PdbController(
                client,
                identity,
                now=_now,
                leads=lambda: election.leads,
                groups=groups,
                disruption=disruption,
                watches=self._watches,
                observe=self.metrics.observe_groups,
            )
            self.metrics.show_pdb(self._pdb)
        if self._pdb is not None and groups:
            handlers[PDB_STATUS_PATH] = self.metrics.timed(self._pdb.status_gate.review)
            handlers[VALIDATE_PDB_PATH] = pdb_validation.review
        if "rbg" in options.controllers:
            self._rbg = RbgController(client, identity, now=_now, leads=lambda: election.leads)
            handlers[VALIDATE_RBG_PATH] = rbg_validation.review
            handlers[PLACE_PATH] = self._rbg.placement.review
            self.metrics.show_rbg(self._rbg)
        self.metrics.show_reflectors(self.reflectors)
        if options.webhook is not None and handlers:
            self.webhooks = Webhooks(
                client,
                options.config.namespace,
                handlers,
                options.webhook,
                options.webhook_service,
                self._wait_synced,
            )

    def _replicas(self) -> list[PubController | PdbController | RbgController]:
        return [*self._budget_replicas(), *([self._rbg] if self._rbg is not None else [])]

    def reflectors(self) -> list[Reflector[Any]]:
        own: list[Reflector[Any]] = [each.budgets for each in self._budget_replicas()]
        if self._pdb is not None:
            own += self._pdb.sources.reflectors.values()
        if self._rbg is not None:
            own += self._rbg.reflectors
        return [*own, *self._watches.reflectors]

    async def _wait_synced(self) -> None:
        """Before this nobody may ask a gate. Who asks about RoleBasedGroups is not kept waiting:
        their CRD may not be here."""
        for each in self._budget_replicas():
            await each.wait_synced()

    def _budget_replicas(self) -> list[PubController | PdbController]:
        return [each for each in (self._pub, self._pdb) if each is not None]

    def checks(self) -> dict[str, http.Check]:
        """One line of /readyz for each. Kinds that are found later are not waited for."""
        checks: dict[str, http.Check] = {
            reflector.name: partial(_problem_of, reflector) for reflector in self.reflectors()
        }
        checks["lease"] = lambda: self._election.error
        if self.webhooks is not None:
            checks["webhooks"] = self.webhooks.problem
        return checks

    def parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs in the background."""
        parts = [self._watches.run(), *(each.run() for each in self._replicas())]
        if self.webhooks is not None:
            parts.append(self.webhooks.run())
        return [*parts, self._election.run(self._lead)]

    async def _lead(self) -> None:
        async with asyncio.TaskGroup() as group:
            if self.webhooks is not None:
                group.create_task(self.webhooks.keep_registered())
            for each in self._replicas():
                group.create_task(each.lead())


def _problem_of(reflector: Reflector[Any]) -> str | None:
    if not reflector.served:
        return None  # nobody can have made any
    if reflector.error:
        return reflector.error
    return None if reflector.store.synced else "not listed yet"


def _now() -> datetime:
    return datetime.now(UTC)


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


def _on_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
