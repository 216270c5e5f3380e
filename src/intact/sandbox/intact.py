"""Intact in the sandbox: the real controllers and the real gates.

They watch and write through the API as in any cluster. Their webhooks are registered there too, and
are called in the process instead of over the network. One replica runs, and it always leads.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Self

from intact.kube.client import Client
from intact.operator.controllers import Controllers
from intact.operator.install.install import install
from intact.operator.install.uninstall import uninstall
from intact.operator.names import DEFAULT_CONTROLLERS, NAMESPACE, OPERATOR, WEBHOOK_SERVICE
from intact.operator.webhook.configuration import (
    MUTATING,
    Json,
    ServiceAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.operator.webhook.registration import Registration
from intact.sandbox.cluster import Sandbox
from intact.sandbox.webhooks import address_of

_USER = f"system:serviceaccount:{NAMESPACE}:{OPERATOR}"
_ADDRESS = ServiceAddress(NAMESPACE, WEBHOOK_SERVICE)


class Intact:
    """`controllers` are chosen as in `intact run --controllers`."""

    def __init__(
        self,
        sandbox: Sandbox,
        controllers: Collection[str] = DEFAULT_CONTROLLERS,
        *,
        seed: int = 0,
    ) -> None:
        self._sandbox = sandbox
        self._names = controllers
        self._rng = random.Random(f"intact {seed}")
        transport = sandbox.api.as_user(_USER)
        self._client = Client(transport, rng=self._rng, on_warning=lambda _text: None)
        self._ready = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self.controllers = self._put_together()
        """Of the process that runs, or ran last."""

    def _put_together(self) -> Controllers:
        return Controllers(
            self._client,
            self._names,
            OPERATOR,
            now=self._sandbox.clock,
            leads=lambda: True,
            rng=self._rng,
        )

    async def run(self) -> None:
        """Install the CRDs and work, until cancelled or stopped."""
        if self._running is not None:
            raise RuntimeError("Intact runs already")
        self._running = asyncio.current_task()
        self.controllers = self._put_together()
        try:
            await install(self._client)
            async with asyncio.TaskGroup() as group:
                group.create_task(self.controllers.run(), name="intact")
                group.create_task(self.controllers.lead(), name="intact leads")
                group.create_task(self._answer(), name="intact answers")
        finally:
            self._ready.clear()
            self._running = None

    async def _answer(self) -> None:
        """Answer reviews, and keep the webhooks registered that are answered."""
        await self.controllers.wait_synced()
        handlers = {
            address_of(_ADDRESS.client_config(path)): handler
            for path, handler in self.controllers.handlers.items()
        }
        registrations = [
            Registration(self._client, self._validating, rng=self._rng),
            Registration(self._client, self._mutating, MUTATING, rng=self._rng),
        ]
        self._sandbox.webhooks.serve(handlers)
        try:
            if handlers:
                for registration in registrations:
                    await registration.ensure()
            self._ready.set()
            async with asyncio.TaskGroup() as group:
                for registration in registrations if handlers else ():
                    group.create_task(registration.keep_registered())
        finally:
            self._sandbox.webhooks.close(handlers)

    def _validating(self) -> Json:
        paths = self.controllers.handlers
        return validating_configuration(_ADDRESS, b"", (NAMESPACE,), paths)

    def _mutating(self) -> Json:
        return mutating_configuration(_ADDRESS, b"", (NAMESPACE,), self.controllers.handlers)

    async def wait_ready(self) -> None:
        """Until reviews are answered and the webhooks are registered."""
        await self._ready.wait()

    async def stop(self) -> None:
        """As if its last pod were gone: what it registered stays, and is not answered."""
        running = self._running
        if running is not None:
            running.cancel()
            await asyncio.wait({running})

    async def uninstall(self, say: Callable[[str], None] = lambda _text: None) -> None:
        """Stop it, and remove from the cluster what `intact uninstall` removes."""
        await self.stop()
        async with Client(
            self._sandbox.api.as_user("admin"), on_warning=lambda _text: None
        ) as admin:
            await uninstall(admin, NAMESPACE, crds=False, say=say, now=self._sandbox.clock)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self, None]:
        """It works while the block runs. If it fails, so does the block."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.run(), name="intact")
            await self.wait_ready()
            yield self
            await self.stop()
