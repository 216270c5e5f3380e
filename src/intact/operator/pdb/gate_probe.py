"""Whether the API server asks the gate before it stores a status.

Until it does, budgets that count groups keep the numbers of the controller that counts pods. Those
of a recount in groups would let any pods go, and not only those of one group.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from intact.kube.client import Client
from intact.kube.errors import TooManyRequests
from intact.kube.resources import PDBS
from intact.kube.store import Key
from intact.operator.webhook import probe

log = logging.getLogger(__name__)

_VALID = timedelta(seconds=60)
"""How long a positive answer holds."""
_REGISTERING = timedelta(seconds=10)
"""How long a new registration may take before its absence is reported."""
_SOON = 0.2
_LATER = 5.0


class GateProbe:
    def __init__(self, client: Client, *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._gated_until: datetime | None = None
        self._ungated_since: datetime | None = None
        self._warned = False

    async def is_gated(self, key: Key) -> bool:
        """Asked with a status write to this budget, as a dry run."""
        now = self._now()
        if self._gated_until is not None and now < self._gated_until:
            return True
        namespace, name = key
        try:
            await self._client.patch(
                PDBS,
                {"status": {}},
                name,
                namespace,
                subresource="status",
                dry_run=True,
                field_manager=probe.NAME,
            )
        except TooManyRequests as answer:
            if not answer.has_cause(probe.CAUSE):
                raise
            self._gated_until = now + _VALID
            self._warned = False
            return True
        if self._gated_until is not None or self._ungated_since is None:
            self._ungated_since = now
        self._gated_until = None
        return False

    def ask_again_after(self) -> float:
        """Seconds, after a negative answer. A registration takes a moment to take effect; one that
        does not is a mistake in the setup, and the log says so once."""
        assert self._ungated_since is not None
        if self._now() < self._ungated_since + _REGISTERING:
            return _SOON
        if not self._warned:
            log.warning(
                "PodDisruptionBudgets that count groups are not held: the API server does not ask "
                "the gate when it stores their status; check the webhook registration and Service"
            )
        self._warned = True
        return _LATER
