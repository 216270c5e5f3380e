"""Other installations of Intact in the same cluster.

Two that work at once would undo each other's work: the webhooks have one registration, and both
would write to the same budgets and groups. So an installation waits, and says so, while another one
works.

- An installation is its namespace, where it has its Lease. The Lease of one that works changes
  every few seconds. One that stays the same for `LEFT_AFTER` is left behind.
- The first one works: another does not even stand for election beside it.
- Two that begin at the same moment may both be elected, each in its own namespace. Then the one
  with the older Lease works.
"""

import asyncio
import logging

from intact.kube.client import Client
from intact.kube.errors import Forbidden, KubeError
from intact.kube.events import EventRecorder, reference_to
from intact.kube.resources import LEASES
from intact.model.lease import Lease
from intact.model.meta import ObjectMeta
from intact.operator.names import LEASE

log = logging.getLogger(__name__)

LEFT_AFTER = 30.0
"""Seconds: longer than another replica takes to be elected when a leader dies."""
_LOOK_AGAIN = 2.0
REASON = "AnotherInstallation"


class OtherInstallations:
    def __init__(self, client: Client, namespace: str, identity: str) -> None:
        self.problem: str | None = None
        """Why this installation waits; None while it does not."""
        self._client = client
        self._namespace = namespace
        self._events = EventRecorder(client, "intact", identity)
        self._changed: dict[str, tuple[str, float]] = {}
        """The version of each Lease by namespace, and when it was first seen."""

    async def run(self) -> None:
        """Writes what is to be told, until cancelled."""
        await self._events.run()

    async def wait_until_alone(self) -> None:
        """Before this process stands for election."""
        await self._wait(older=False)

    async def wait_for_older(self) -> None:
        """Once this process is elected, before it works."""
        await self._wait(older=True)

    async def _wait(self, *, older: bool) -> None:
        while other := self._one_at_work(await self._leases(), older=older):
            self._say(other)
            await asyncio.sleep(_LOOK_AGAIN)
        if self.problem is not None:
            log.info("the other installation of Intact works no more: this one begins")
        self.problem = None

    async def _leases(self) -> list[Lease]:
        """Of all installations; none if they may not be read."""
        while True:
            try:
                return (await self._client.list(LEASES, fields=f"metadata.name={LEASE}")).items
            except Forbidden as error:
                log.warning("cannot find out whether Intact is installed twice: %s", error)
                return []
            except KubeError as error:
                log.warning("cannot find out whether Intact is installed twice yet: %s", error)
                await asyncio.sleep(_LOOK_AGAIN)

    def _one_at_work(self, leases: list[Lease], *, older: bool) -> Lease | None:
        """Another installation, also if it is younger unless only older ones count."""
        own = [_age_of(one) for one in leases if one.metadata.namespace == self._namespace]
        others = [one for one in leases if one.metadata.namespace != self._namespace]
        at_work = [one for one in others if self._has_changed(one)]
        if older and own:
            at_work = [one for one in at_work if _age_of(one) < own[0]]
        return min(at_work, key=_age_of, default=None)

    def _has_changed(self, lease: Lease) -> bool:
        meta, now = lease.metadata, asyncio.get_running_loop().time()
        version, since = self._changed.get(meta.namespace, ("", now))
        if version != meta.resource_version:
            since = now
        self._changed[meta.namespace] = meta.resource_version, since
        return now < since + LEFT_AFTER

    def _say(self, other: Lease) -> None:
        message = (
            f"Intact works in the namespace {other.metadata.namespace} already: the installation "
            f"in {self._namespace} waits. Remove one of them with `intact uninstall`."
        )
        if self.problem == message:
            return
        self.problem = message
        log.error("%s", message)
        own = ObjectMeta(name=LEASE, namespace=self._namespace)
        for meta in (own, other.metadata):
            self._events.record(reference_to(LEASES, meta), "Warning", REASON, message)


def _age_of(lease: Lease) -> tuple[str, str]:
    """Sorts the older one first."""
    return lease.metadata.creation_timestamp, lease.metadata.namespace
