"""The registration of the webhooks with the API server, and keeping it as it should be.

It is written by PUT, not by apply: apply keeps what other writers have added, and one more
condition or selector is enough to switch the gate off. The server's answer is kept and compared
with, so that its defaults, also those of later versions, do not count as edits.
"""

import asyncio
import logging
import random
from collections.abc import Callable

from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from intact.kube.reflector import Reflector
from intact.kube.resources import Resource
from intact.kube.retry import Backoff
from intact.kube.store import Store
from intact.operator.webhook.configuration import (
    MUTATING,
    NAME,
    VALIDATING,
    Json,
    WebhookConfiguration,
)

log = logging.getLogger(__name__)

_CHECK_EVERY = 300.0
_ATTEMPTS = 5
_BETWEEN_WRITES = 1.0
"""Seconds. Another writer that keeps undoing our writes must not make us write without end."""


async def is_registered(client: Client) -> bool:
    """Whether Intact's webhooks are registered with the API server. Raises `KubeError`."""
    for resource in (VALIDATING, MUTATING):
        try:
            await client.raw(resource.path(name=NAME))
        except NotFound:
            continue
        return True
    return False


class Registration:
    """One registration, as `wanted` says it should be at each moment."""

    def __init__(
        self,
        client: Client,
        wanted: Callable[[], Json],
        resource: Resource[WebhookConfiguration] = VALIDATING,
        *,
        rng: random.Random | None = None,
    ) -> None:
        self.error: str | None = None
        """Why the registration may not be as wanted; None while all is well."""
        self._client = client
        self._wanted = wanted
        self._resource = resource
        self._stored: tuple[Json, list[Json]] | None = None
        self._woken = asyncio.Event()
        self._backoff = Backoff(first=0.2, most=30.0)
        self._rng = rng or random.Random()

    def recheck(self) -> None:
        """Something may have changed: check again, soon."""
        self._woken.set()

    async def ensure(self) -> bool:
        """Write it, unless it is as wanted. Returns whether it was written. Raises `KubeError`."""
        for _ in range(_ATTEMPTS):
            wanted = self._wanted()
            try:
                found = await self._client.get(self._resource, NAME)
            except NotFound:
                try:
                    answer = await self._client.create(self._resource, wanted)
                except AlreadyExists:
                    continue
            else:
                if self._stored == (wanted, found.webhooks):
                    return False
                version = found.metadata.resource_version
                body = wanted | {"metadata": wanted["metadata"] | {"resourceVersion": version}}
                try:
                    answer = await self._client.update(self._resource, body, NAME)
                except (Conflict, NotFound):
                    continue
                if answer.metadata.resource_version == version:
                    self._stored = (wanted, answer.webhooks or [])
                    return False
            self._stored = (wanted, answer.webhooks or [])
            log.info("wrote the %s %s", self._resource.kind, NAME)
            return True
        raise KubeError(f"the {self._resource.kind} {NAME} changes faster than it can be written")

    async def keep_registered(self) -> None:
        """Runs, on the leader, until cancelled: undoes edits and deletions as it sees them."""
        store: Store[WebhookConfiguration] = Store()
        store.subscribe(lambda _old, _new: self.recheck())
        reflector = Reflector(
            self._client, self._resource, store, fields=f"metadata.name={NAME}", rng=self._rng
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            group.create_task(self._keep())

    async def _keep(self) -> None:
        failures = 0
        while True:
            self._woken.clear()
            try:
                if await self.ensure():
                    await asyncio.sleep(_BETWEEN_WRITES)
            except KubeError as error:
                failures += 1
                if self.error != str(error):
                    log.warning("the %s %s: %s", self._resource.kind, NAME, error)
                self.error = str(error)
                await asyncio.sleep(self._backoff.delay(failures, self._rng))
                continue
            failures, self.error = 0, None
            try:
                async with asyncio.timeout(_CHECK_EVERY):
                    await self._woken.wait()
            except TimeoutError:
                continue
