"""Whether the API server knows the fields of KEP-5682.

It is asked with a status write, as a dry run: a server that does not know a field drops it. Its
OpenAPI would name fields also where their feature gate is off, and to create a budget as a dry run
would need a right that Intact has no other use for.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from intact.kube.client import Client
from intact.kube.resources import PDBS
from intact.kube.store import Key
from intact.operator.pdb.status_writer import GROUPS_MANAGER

log = logging.getLogger(__name__)

_VALID = timedelta(minutes=10)
"""How long an answer holds: servers are upgraded, and their feature gates switched."""
_PROBE = 1


class KepFields:
    def __init__(self, client: Client, *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._known = False
        self._valid_until: datetime | None = None
        self._asking = asyncio.Lock()

    async def known(self, key: Key) -> bool:
        """Asked with this budget, if the last answer is too old. Raises `KubeError`."""
        async with self._asking:
            if self._valid_until is None or self._now() >= self._valid_until:
                known = await self._ask(key)
                if known and not self._known:
                    log.info("the API server knows spec.budgetScope: it decides in groups itself")
                self._known = known
                self._valid_until = self._now() + _VALID
            return self._known

    async def _ask(self, key: Key) -> bool:
        namespace, name = key
        answer = await self._client.patch(
            PDBS,
            {"status": {"expectedReplicas": _PROBE}},
            name,
            namespace,
            subresource="status",
            dry_run=True,
            field_manager=GROUPS_MANAGER,
            field_validation="Ignore",
        )
        return answer.status.expected_replicas == _PROBE
