"""The process: it connects, stands for election, watches, serves, and ends cleanly."""

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
from typing import Any, Protocol

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
from intact.operator.names import DEFAULT_CONTROLLERS, LEASE
from intact.operator.pdb.controller import PdbController
from intact.operator.pub.controller import PubController
from intact.operator.rbg import validation as rbg_validation
from intact.operator.rbg.controller import RbgController
from intact.operator.watch.shared import Watches
from intact.operator.webhook.client_ca import ClientCa
from intact.operator.webhook.configuration import (
    DOOR_PATH,
    GATE_PATH,
    PDB_STATUS_PATH,
    PIN_PATH,
    PLACE_PATH,
    VALIDATE_PDB_PATH,
    VALIDATE_PUB_PATH,
    VALIDATE_RBG_PATH,
)
from intact.operator.webhook.server import Handler
from intact.operator.webhook.serving import Webhooks

log = logging.getLogger(__name__)

_NO_WEBHOOK = (
    "PodDisruptionBudgets that count groups are not enforced, because no webhook is served; "
    "give --install, --webhook-bind or --webhook-service"
)


@dataclass(frozen=True, slots=True)
class Options:
    config: Config
    http: tuple[str, int]
    webhook: tuple[str, int] | None = None
    """Where admission reviews are answered; None if they are not."""
    webhook_service: tuple[str, str] | None = None
    """Namespace and name of the Service in front of the webhooks."""
    webhook_client_ca: ClientCa | None = None
    """Only clients with a certificate of it may send reviews; None if that is not asked for."""
    controllers: tuple[str, ...] = DEFAULT_CONTROLLERS
    install: bool = False


class Controller(Protocol):
    """What all controllers have in common."""

    @property
    def reflectors(self) -> list[Reflector[Any]]: ...

    async def run(self) -> None:
        """What every process does, until cancelled."""

    async def lead(self) -> None:
        """What the leader does, until cancelled."""

    async def wait_synced(self) -> None: ...


async def run(options: Options) -> None:
    """Runs until SIGTERM or SIGINT."""
    if options.controllers == ("pdb",) and options.webhook is None:
        raise StartError(f"{_NO_WEBHOOK}, or choose other --controllers")
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
    """The parts of one process, put together: what is watched, the controllers that are chosen, and
    the webhooks and metrics that show them."""

    def __init__(self, client: Client, options: Options, election: Election, identity: str) -> None:
        self._client = client
        self._identity = identity
        self._election = election
        self._watches = Watches(client)
        self._controllers: list[Controller] = []
        self._gates: list[Controller] = []
        """The controllers whose gates the webhooks serve."""
        self._handlers: dict[str, Handler] = {}
        self.metrics = Metrics(election)
        # PodDisruptionBudgets in groups are enforced by a webhook, or not at all.
        groups = "pdb" in options.controllers and options.webhook is not None
        disruption = "disruption" in options.controllers
        if "pub" in options.controllers:
            self._add_pub()
        if groups or disruption:
            self._add_pdb(groups=groups, disruption=disruption)
        if "rbg" in options.controllers:
            self._add_rbg()
        self.metrics.show_reflectors(self.reflectors)
        self.webhooks = self._make_webhooks(options)
        if self.webhooks is not None:
            self.metrics.show_webhooks(self.webhooks)

    def _add_pub(self) -> None:
        pub = PubController(
            self._client,
            self._identity,
            now=_now,
            leads=self._leads,
            observe=self.metrics.observe_pub,
            watches=self._watches,
        )
        self._controllers.append(pub)
        self._gates.append(pub)
        self._handlers[GATE_PATH] = self.metrics.timed(pub.gate.review)
        self._handlers[PIN_PATH] = pub.pin.review
        self._handlers[VALIDATE_PUB_PATH] = pub.validation.review
        self.metrics.show_pub(pub)

    def _add_pdb(self, *, groups: bool, disruption: bool) -> None:
        pdb = PdbController(
            self._client,
            self._identity,
            now=_now,
            leads=self._leads,
            groups=groups,
            disruption=disruption,
            watches=self._watches,
            observe=self.metrics.observe_pdb,
        )
        self._controllers.append(pdb)
        self._gates.append(pdb)
        if groups:
            self._handlers[PDB_STATUS_PATH] = self.metrics.timed(pdb.status_gate.review)
            self._handlers[DOOR_PATH] = pdb.door.review
            self._handlers[VALIDATE_PDB_PATH] = pdb.validation.review
        self.metrics.show_pdb(pdb)

    def _add_rbg(self) -> None:
        rbg = RbgController(self._client, self._identity, now=_now, leads=self._leads)
        self._controllers.append(rbg)
        self._handlers[VALIDATE_RBG_PATH] = rbg_validation.review
        self._handlers[PLACE_PATH] = rbg.placement.review
        self.metrics.show_rbg(rbg)

    def _make_webhooks(self, options: Options) -> Webhooks | None:
        if options.webhook is None or not self._handlers:
            return None
        return Webhooks(
            self._client,
            options.config.namespace,
            self._handlers,
            options.webhook,
            options.webhook_service,
            self._wait_synced,
            self._identity,
            options.webhook_client_ca,
        )

    def _leads(self) -> bool:
        return self._election.leads

    async def _wait_synced(self) -> None:
        """Before this no review may be answered: a gate that has not seen every budget would allow
        too much. RoleBasedGroups are not waited for: their CRD may not be installed."""
        for controller in self._gates:
            await controller.wait_synced()

    def reflectors(self) -> list[Reflector[Any]]:
        """Those of each controller, then those that the controllers share."""
        shared = self._watches.reflectors
        own = [
            reflector
            for controller in self._controllers
            for reflector in controller.reflectors
            if reflector not in shared
        ]
        return [*own, *shared]

    def checks(self) -> dict[str, http.Check]:
        """One line of /readyz for each. Kinds that are discovered later have none."""
        checks: dict[str, http.Check] = {
            reflector.name: partial(_problem_of, reflector) for reflector in self.reflectors()
        }
        checks["lease"] = lambda: self._election.error
        if self.webhooks is not None:
            checks["webhooks"] = self.webhooks.problem
        return checks

    def parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs in the background."""
        parts = [self._watches.run(), *(controller.run() for controller in self._controllers)]
        if self.webhooks is not None:
            parts.append(self.webhooks.run())
        return [*parts, self._election.run(self._lead)]

    async def _lead(self) -> None:
        async with asyncio.TaskGroup() as group:
            if self.webhooks is not None:
                group.create_task(self.webhooks.keep_registered())
            for controller in self._controllers:
                group.create_task(controller.lead())


def _problem_of(reflector: Reflector[Any]) -> str | None:
    if not reflector.served:
        return None  # the API server does not serve the kind, so there are no objects to list
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
