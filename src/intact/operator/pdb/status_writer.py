"""Status writes to PodDisruptionBudgets, each against the version that it was counted from.

If another writer came first, the budget is read and counted again: most of the time that is the API
server, which has stored an eviction.
"""

from collections.abc import Awaitable, Callable, Mapping

from intact.kube.client import Client
from intact.kube.errors import Conflict, NotFound
from intact.kube.queue import Queue
from intact.kube.resources import PDBS
from intact.kube.store import Key, key_of
from intact.model.pdb import PdbStatus, PodDisruptionBudget
from intact.model.versions import is_before
from intact.operator.pdb.index import PdbIndex
from intact.operator.pdb.status import status_patch

GROUPS_MANAGER = "intact-groups"
"""The field manager of writes to budgets that count groups: by it the gate tells them from those of
all other writers."""
_ATTEMPTS = 5


class StatusWriter:
    def __init__(
        self,
        client: Client,
        index: PdbIndex,
        queue: Queue[Key],
        *,
        leads: Callable[[], bool],
        field_manager: str = "",
    ) -> None:
        """Without a field manager of its own it writes as the client does."""
        self.writes = 0
        self.conflicts = 0
        self._client = client
        self._index = index
        self._queue = queue
        self._leads = leads
        self._field_manager = field_manager

    async def write(
        self, budget: PodDisruptionBudget, status: PdbStatus, annotations: Mapping[str, str | None]
    ) -> None:
        """Only the leader writes. Raises Conflict if the budget has changed."""
        if not self._leads():
            return
        namespace, name = key_of(budget)
        stored = await self._client.patch(
            PDBS,
            status_patch(budget, status, annotations),
            name,
            namespace,
            subresource="status",
            field_manager=self._field_manager,
        )
        self.writes += 1
        self._client.history.learn(PDBS, stored)
        self._index.update(stored)

    async def _read_again(self, key: Key, refresh: Callable[[PodDisruptionBudget], object]) -> None:
        entry = self._index.entries.get(key)
        known = entry.budget.metadata.resource_version if entry is not None else ""
        namespace, name = key
        found = await self._client.get(PDBS, name, namespace)
        if is_before(found.metadata.resource_version, known):
            self._client.history.went_back()
        else:
            self._client.history.learn(PDBS, found)
            refresh(found)

    def _take(self, found: PodDisruptionBudget) -> None:
        if self._index.has_rules_of(found):
            self._index.update(found)

    async def retry_conflicts(
        self,
        key: Key,
        attempt: Callable[[], Awaitable[None]],
        refresh: Callable[[PodDisruptionBudget], object] | None = None,
    ) -> None:
        """Run `attempt` while this process leads, until it ends without a conflict. After each
        conflict the index, or `refresh`, gets the budget as it is stored now. If every attempt
        loses, the queue brings the key back later."""
        for _ in range(_ATTEMPTS):
            if not self._leads():
                return
            try:
                await attempt()
            except Conflict:
                self.conflicts += 1
                await self._read_again(key, refresh or self._take)
            except NotFound:
                return
            else:
                return
        self._queue.retry(key)
