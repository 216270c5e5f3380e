"""The admission webhooks of one process: server, certificates and registration."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.events import EventRecorder
from intact.kube.retry import Backoff
from intact.model.meta import LabelSelector
from intact.operator.listening import Port
from intact.operator.watch.selection import EVERYWHERE
from intact.operator.webhook.certificates import Certificates, service_names
from intact.operator.webhook.client_ca import ClientCa
from intact.operator.webhook.configuration import (
    MUTATING,
    Address,
    ServiceAddress,
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.operator.webhook.paths import SecretPaths
from intact.operator.webhook.registration import Registration
from intact.operator.webhook.server import Handler, serving_webhooks

log = logging.getLogger(__name__)

_BACKOFF = Backoff(first=0.2, most=30.0)

PLAIN_FOR = 300.0
"""Seconds for which a new leader keeps a registration without tokens: until the replicas of the
version before are gone."""

_ANY = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not listened on


class Webhooks:
    def __init__(
        self,
        client: Client,
        namespace: str,
        handlers: Mapping[str, Handler],
        bind: tuple[str, int],
        service: tuple[str, str] | None,
        wait_ready: Callable[[], Awaitable[None]],
        identity: str = "",
        client_ca: ClientCa | None = None,
        selected: LabelSelector = EVERYWHERE,
    ) -> None:
        """Nothing is answered before `wait_ready` returns. Only `selected` namespaces are gated."""
        self._selected = selected
        self._events = EventRecorder(client, "intact", identity)
        self._wait_ready = wait_ready
        self._handlers = handlers
        self._bind = bind
        host = "127.0.0.1" if bind[0] in _ANY else bind[0]
        names = [host, "localhost"] if service is None else service_names(*service)
        self._address: Address = (
            UrlAddress(host, bind[1]) if service is None else ServiceAddress(*service)
        )
        # Outside a cluster the operator has no pods of its own that it could lock out.
        self._exempt = () if service is None else (namespace,)
        self.certificates = Certificates(
            client, namespace, names, events=self._events, client_ca=client_ca
        )
        self.registrations = [
            Registration(client, self._validating),
            Registration(client, self._mutating, MUTATING),
        ]
        self._paths = SecretPaths(client, handlers, lambda: self.certificates.tokens)
        self._plain_until = float("-inf")
        """Until then the registration keeps paths without a token, which old replicas answer."""
        self.refused: Counter[str] = Counter()
        """Requests that were refused unread, by reason."""
        self.port: Port | None = None
        self._serving = asyncio.Event()
        self._rng = random.Random()
        for registration in self.registrations:
            self.certificates.subscribe(registration.recheck)

    def _validating(self) -> dict[str, object]:
        bundle = self.certificates.ca_bundle
        return validating_configuration(
            self._addressed(), bundle, self._exempt, self._handlers, self._selected
        )

    def _mutating(self) -> dict[str, object]:
        bundle = self.certificates.ca_bundle
        return mutating_configuration(
            self._addressed(), bundle, self._exempt, self._handlers, self._selected
        )

    def _addressed(self) -> Address:
        plain = asyncio.get_running_loop().time() < self._plain_until
        prefix = "" if plain else f"/{self.certificates.token}"
        return replace(self._address, prefix=prefix)

    def problem(self) -> str | None:
        """What is wrong; None while reviews are answered and the registration is as wanted."""
        if not self._serving.is_set():
            return self.certificates.error or "not served yet"
        errors = (registration.error for registration in self.registrations)
        return self.certificates.error or next(filter(None, errors), None)

    async def run(self) -> None:
        """Answers reviews until cancelled; finishes those that are running then."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._events.run())
            group.create_task(self._serve())

    async def _serve(self) -> None:
        await self._first_certificate()
        await self._wait_ready()
        host, port = self._bind
        async with serving_webhooks(
            self._handlers,
            host,
            port,
            lambda: self.certificates.context,
            route=self._paths.route,
            refused=self.refused,
        ) as addresses:
            self.port = addresses.port
            log.info("serving webhooks on %s", ", ".join(addresses))
            self._serving.set()
            await self.certificates.run()

    async def _first_certificate(self) -> None:
        failures = 0
        while True:
            try:
                return await self.certificates.refresh()
            except KubeError as error:
                failures += 1
                if self.certificates.error != str(error):
                    log.warning("there is no certificate for the webhooks yet: %s", error)
                self.certificates.error = str(error)
                await asyncio.sleep(_BACKOFF.delay(failures, self._rng))

    async def keep_registered(self) -> None:
        """What the leader does, until cancelled: keep the webhooks registered that it serves."""
        await self._serving.wait()
        await self._stay_plain()
        async with asyncio.TaskGroup() as group:
            for registration in self.registrations:
                group.create_task(registration.keep_registered())

    async def _stay_plain(self) -> None:
        """A registration without tokens is of a version before, whose replicas may still run."""
        try:
            plain = await self._paths.registered_without_tokens()
        except KubeError:
            return
        if plain:
            loop = asyncio.get_running_loop()
            self._plain_until = loop.time() + PLAIN_FOR
            log.info("the registered paths get their tokens in %g s", PLAIN_FOR)
            for registration in self.registrations:
                loop.call_later(PLAIN_FOR, registration.recheck)
