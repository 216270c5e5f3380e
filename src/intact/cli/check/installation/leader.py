"""Whether one process leads: its Lease is held, and renewed.

The times in a Lease are of another clock; that it changes tells that its holder is alive.
"""

import asyncio
from contextlib import suppress

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, not_asked, ok, warn
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.lease import Timing
from intact.kube.resources import LEASES
from intact.model.lease import Lease
from intact.operator.names import LEASE

NAME = "leader"


async def leader(client: Client, found: Found, patience: float = Timing().renew_deadline) -> Line:
    """`patience` is for how long a renewal is waited for, in seconds."""
    if not found.leases:
        if error := found.unread.get("leases"):
            return not_asked(NAME, error)
        return fail(NAME, f"no process holds a Lease {LEASE}: nothing is counted")
    renewed = await asyncio.gather(*(_renewed(client, each, patience) for each in found.leases))
    alive = [each for each in renewed if each is not None]
    if not alive:
        return fail(
            NAME,
            f"{_told(found.leases[0])} and has not renewed it for {patience:.0f} s: nothing is "
            "counted until another replica takes over",
        )
    if len(alive) > 1:
        both = " and ".join(_told(each) for each in alive)
        return warn(NAME, f"two installations run side by side: {both}")
    holder = alive[0].spec.holder_identity or ""
    names = [pod.metadata.name for pod in found.pods]
    if names and not any(name in holder for name in names):
        return warn(NAME, f"{_told(alive[0])}, which is no pod of the Deployment")
    return ok(NAME, f"{_told(alive[0])} and renews it")


def _told(lease: Lease) -> str:
    meta = lease.metadata
    return f"{lease.spec.holder_identity} holds the Lease {meta.namespace}/{meta.name}"


async def _renewed(client: Client, lease: Lease, patience: float) -> Lease | None:
    """The Lease as its holder has written it meanwhile; None if nobody has."""
    meta = lease.metadata
    with suppress(TimeoutError, KubeError):
        async with (
            asyncio.timeout(patience),
            client.watch(
                LEASES,
                meta.namespace,
                resource_version=meta.resource_version,
                fields=f"metadata.name={meta.name}",
            ) as events,
        ):
            async for event in events:
                now = event.object
                if event.type == "MODIFIED" and now is not None and now.spec.holder_identity:
                    return now
    return None
