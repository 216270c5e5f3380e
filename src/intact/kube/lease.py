"""Leader election by a Lease: at most one process leads at any moment.

Rules:
- No process compares its clock with another's. A candidate measures with its own monotonic clock
  how long the record has stayed the same, and takes over only after the holder's whole duration.
  Of a duration that no candidate writes it waits `_MOST_DURATIONS` of its own: a user may have
  edited the Lease.
- A leader counts from before it *sent* its last successful renewal, and stops leading after the
  renew deadline, which is shorter than the duration: it has noticed its loss, and has had time to
  stop, before another candidate can take over. `leads` says so at the moment of asking, also if
  this process was stopped or stuck meanwhile.
- Every write is a compare-and-swap on the record that was looked at.
- A Lease that is deleted while it is held still counts for every process that has seen it; the
  holder notices at its next renewal and stands again. Only a process that starts just then knows
  nothing of it.

This is coordination, not fencing: a request that was under way when the leadership ended can still
arrive. What must not happen twice is guarded by resource versions.
"""

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from intact.kube.client import Client
from intact.kube.errors import ApiError, Conflict, KubeError, NotFound
from intact.kube.reflector import Reflector
from intact.kube.resources import LEASES
from intact.kube.store import Store
from intact.model.lease import Lease, LeaseSpec
from intact.model.times import micro_timestamp

log = logging.getLogger(__name__)

_RELEASE_TIMEOUT = 5.0
_MOST_DURATIONS = 4
_MOST_TRANSITIONS = 2**31 - 1
"""The largest number that the API takes."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds; the defaults are client-go's."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > self.retry_period > 0:
            raise ValueError(f"duration > renew_deadline > retry_period > 0 does not hold: {self}")


class Election:
    """One candidate for a Lease."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        timing: Timing | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        rng: random.Random | None = None,
    ) -> None:
        self.identity = identity
        self.transitions = 0
        """How often this process has begun to lead."""
        self.error: str | None = None
        """Why the Lease could not be read or written the last time; None while all is well."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._timing = timing or Timing()
        self._now = now
        self._rng = rng
        self._record: Lease | None = None
        self._claimed_until = -math.inf
        self._leads_until = -math.inf
        self._changed = asyncio.Event()

    @property
    def leads(self) -> bool:
        """Whether this process leads, at this very moment."""
        return _monotonic() < self._leads_until

    @property
    def holder(self) -> str:
        """The identity that held the Lease when it was last seen; empty if none did."""
        return (self._record.spec.holder_identity if self._record else None) or ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Stand for election until cancelled; run `lead` while elected, cancelled on loss.

        When cancelled it first waits for `lead` to end, then gives the Lease back.
        """
        store: Store[Lease] = Store()
        store.subscribe(self._observe_store)
        fields = f"metadata.name={self._name}"
        reflector = Reflector(
            self._client, LEASES, store, namespace=self._namespace, fields=fields, rng=self._rng
        )
        watching = asyncio.create_task(reflector.run(), name=f"watch lease {self._name}")
        try:
            while True:
                await self._acquire()
                await self._hold(lead)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _acquire(self) -> None:
        while True:
            self._changed.clear()  # before looking: what changes meanwhile is looked at again
            if await self._try(self._take):
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await self._changed.wait()

    def _patience(self) -> float:
        """Until another's claim runs out; a look at it now and then does no harm."""
        left = self._claimed_until - _monotonic()
        return min(left, self._timing.duration) if left > 0 else self._timing.retry_period

    async def _hold(self, lead: Callable[[], Awaitable[None]]) -> None:
        self.transitions += 1
        log.info("leading as %s", self.identity)
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.create_task(self._renew(), name=f"renew lease {self._name}")
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if leading.done():
                leading.result()
            else:
                log.warning("no longer leading: the lease could not be renewed in time")
        finally:
            await _stop(leading)
            await _stop(renewing)
            await self._release()

    async def _renew(self) -> None:
        """Renews until it is too late to. Returns when the leadership is lost."""
        while (left := self._leads_until - _monotonic()) > 0:
            await asyncio.sleep(min(left, self._timing.retry_period))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._leads_until - _monotonic()):
                    await self._try(self._take)
            if self.holder != self.identity:
                self._leads_until = -math.inf

    async def _try(self, step: Callable[[], Awaitable[bool]]) -> bool:
        try:
            done = await step()
        except KubeError as error:
            if self.error != str(error):
                log.warning("lease %s/%s: %s", self._namespace, self._name, error)
            self.error = str(error)
            return False
        self.error = None
        return done

    async def _take(self) -> bool:
        """Take or renew the Lease, unless another candidate holds it. True if it is ours now."""
        if self.holder != self.identity:
            await self._read()
        if _monotonic() < self._claimed_until:
            return False
        sent = _monotonic()
        try:
            self._observe(await self._write(self._claim()))
        except ApiError as error:
            # Another process was faster or has deleted it, or an earlier write of ours came late.
            # Read again in any case: our own record may no longer be there.
            await self._read()
            if isinstance(error, Conflict) or self._record is None:
                return False
            raise
        self._leads_until = sent + self._timing.renew_deadline
        return self.leads  # an answer may come too late

    async def _read(self) -> None:
        try:
            self._observe(await self._client.get(LEASES, self._name, self._namespace))
        except NotFound:
            self._forget()

    def _forget(self) -> None:
        """Deleted: its holder may lead for as long as if it had just renewed it."""
        if self._record is not None and self.holder not in ("", self.identity):
            self._claimed_until = _monotonic() + self._duration_of(self._record)
        self._record = None

    def _duration_of(self, lease: Lease) -> float:
        """How long its holder may lead after it has written the record."""
        duration = lease.spec.lease_duration_seconds or 0
        return min(duration, _MOST_DURATIONS * self._timing.duration)

    def _observe(self, lease: Lease) -> None:
        """The moment of observation counts, and only of a record that is new to us."""
        if self._record is None or _version(self._record) != _version(lease):
            others = lease.spec.holder_identity not in (None, "", self.identity)
            claimed_until = _monotonic() + self._duration_of(lease)
            self._claimed_until = claimed_until if others else -math.inf
        self._record = lease

    def _observe_store(self, _old: Lease | None, new: Lease | None) -> None:
        # While leading, our own answers are newer than what a watch may still bring.
        if not self.leads:
            if new is None:
                self._forget()
            else:
                self._observe(new)
            self._changed.set()

    def _claim(self) -> LeaseSpec:
        old = self._record.spec if self._record else LeaseSpec()
        now = micro_timestamp(self._now())
        renewal = old.holder_identity == self.identity
        transitions = min(old.lease_transitions or 0, _MOST_TRANSITIONS - 1)
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=math.ceil(self._timing.duration),
            acquire_time=old.acquire_time if renewal else now,
            renew_time=now,
            lease_transitions=transitions if renewal or not self._record else transitions + 1,
        )

    async def _release(self) -> None:
        """Let another take over at once. If this fails, the lease simply runs out."""
        self._leads_until = -math.inf
        if self.holder != self.identity or self._record is None:
            return
        now = micro_timestamp(self._now())
        spec = LeaseSpec(
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=now,
            renew_time=now,
            lease_transitions=self._record.spec.lease_transitions,
        )
        with suppress(KubeError, TimeoutError):
            async with asyncio.timeout(_RELEASE_TIMEOUT):
                try:
                    self._observe(await self._write(spec))
                except Conflict:  # a renewal that was under way when we stopped has arrived
                    await self._read()
                    if self.holder == self.identity:
                        self._observe(await self._write(spec))

    async def _write(self, spec: LeaseSpec) -> Lease:
        record = self._record
        metadata = {"name": self._name, "namespace": self._namespace}
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": spec,
        }
        if record is None:
            return await self._client.create(LEASES, body, self._namespace)
        metadata["resourceVersion"] = record.metadata.resource_version
        # Without its UID, the PUT of a Lease that was deleted would create it anew (seen).
        metadata["uid"] = record.metadata.uid
        return await self._client.update(LEASES, body, self._name, self._namespace)


async def _stop(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _monotonic() -> float:
    return asyncio.get_running_loop().time()


def _version(lease: Lease) -> tuple[str, str]:
    return lease.metadata.uid, lease.metadata.resource_version
