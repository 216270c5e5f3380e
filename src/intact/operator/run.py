"""The process: it connects, stands for election, watches, serves, and ends cleanly."""

import asyncio
import logging
import os
import signal
import socket
import uuid
from collections.abc import Coroutine
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
from intact.model.meta import LabelSelector
from intact.operator import http
from intact.operator.background import in_background
from intact.operator.controllers import Controllers
from intact.operator.errors import StartError
from intact.operator.install.install import install, refuse_foreign
from intact.operator.install.old_server import refuse_old_server, wait_and_refuse_old_server
from intact.operator.metrics import Metrics
from intact.operator.names import DEFAULT_CONTROLLERS, LEASE
from intact.operator.other_installations import OtherInstallations
from intact.operator.watch.selection import EVERYWHERE
from intact.operator.webhook.client_ca import ClientCa
from intact.operator.webhook.configuration import GATE_PATH, PDB_STATUS_PATH
from intact.operator.webhook.serving import Webhooks

log = logging.getLogger(__name__)

_NO_WEBHOOK = (
    "PodDisruptionBudgets that count groups are not enforced, because no webhook is served; "
    "give --install, --webhook-bind or --webhook-service"
)
_TIMED = (GATE_PATH, PDB_STATUS_PATH)
"""The reviews whose time is measured."""


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
    namespaces: LabelSelector = EVERYWHERE
    """Labels of the namespaces in which PodUnavailableBudgets hold pods."""


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
                await refuse_old_server(client)
                await install(client, options.controllers)
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
            async with in_background(*process.parts()):
                await stopped.wait()
                log.info("stopping")


class Process:
    """The parts of one process, put together: the controllers that are chosen, and the webhooks and
    metrics that show them."""

    def __init__(self, client: Client, options: Options, election: Election, identity: str) -> None:
        self._client = client
        self._names = options.controllers
        self._election = election
        self._others = OtherInstallations(client, options.config.namespace, identity)
        self.metrics = Metrics(election)
        self.controllers = Controllers(
            client,
            options.controllers,
            identity,
            now=_now,
            leads=lambda: election.leads,
            groups=options.webhook is not None,
            selected=options.namespaces,
            observe_pub=self.metrics.observe_pub,
            observe_pdb=self.metrics.observe_pdb,
        )
        self.reflectors = self.controllers.reflectors
        self._show_controllers()
        self.webhooks = self._make_webhooks(client, options, identity)
        if self.webhooks is not None:
            self.metrics.show_webhooks(self.webhooks)

    def _show_controllers(self) -> None:
        self.metrics.show_reflectors(self.reflectors)
        if self.controllers.pub is not None:
            self.metrics.show_pub(self.controllers.pub)
        if self.controllers.pdb is not None:
            self.metrics.show_pdb(self.controllers.pdb)
        if self.controllers.rbg is not None:
            self.metrics.show_rbg(self.controllers.rbg)

    def _make_webhooks(self, client: Client, options: Options, identity: str) -> Webhooks | None:
        """Also for no handlers: what other controllers have registered must go."""
        handlers = self.controllers.handlers
        if options.webhook is None:
            return None
        timed = {path: self.metrics.timed(handlers[path]) for path in _TIMED if path in handlers}
        return Webhooks(
            client,
            options.config.namespace,
            handlers | timed,
            options.webhook,
            options.webhook_service,
            self.controllers.wait_synced,
            identity,
            options.webhook_client_ca,
            options.namespaces,
        )

    def checks(self) -> dict[str, http.Check]:
        """One line of /readyz for each. Kinds that are discovered later have none."""
        checks: dict[str, http.Check] = {
            reflector.name: partial(_problem_of, reflector) for reflector in self.reflectors()
        }
        checks["lease"] = lambda: self._election.error
        checks["installation"] = lambda: self._others.problem
        if self.webhooks is not None:
            checks["webhooks"] = self.webhooks.problem
        return checks

    def parts(self) -> list[Coroutine[Any, Any, None]]:
        """What runs in the background: first the watches, on which the others depend."""
        parts = [self.controllers.run()]
        if self.webhooks is not None:
            parts.append(self.webhooks.run())
        return [*parts, self._others.run(), self._stand()]

    async def _stand(self) -> None:
        await self._others.wait_until_alone()
        await self._election.run(self._lead)

    async def _lead(self) -> None:
        # Before the first write: the server may be too old, the kinds another product's, or another
        # Intact at work.
        await wait_and_refuse_old_server(self._client)
        await refuse_foreign(self._client, self._names)
        await self._others.wait_for_older()
        async with asyncio.TaskGroup() as group:
            if self.webhooks is not None:
                group.create_task(self.webhooks.keep_registered())
            group.create_task(self.controllers.lead())


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


def _on_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
