"""Whether Intact still runs, in a place that `intact uninstall` does not end.

A process that runs while the references to a RoleBasedGroup are removed may apply them again; the
garbage collector then deletes the workloads. Whether a Lease is held is not told by its times,
which are of another clock: its holder renews it.
"""

import asyncio
from collections.abc import Collection

from intact.kube.client import Client
from intact.kube.lease import Timing
from intact.kube.resources import LEASES
from intact.model.lease import Lease
from intact.operator.names import LEASE

_PAUSE = 0.5


async def holders(client: Client, ended: Collection[str]) -> list[str]:
    """The Leases of Intact that a process renews, and by whom they are held, but for namespaces in
    which Intact is `ended` by other means. Raises `KubeError`."""
    alive = await _renewed(client, ended)
    return [f"Lease {key} of {each.spec.holder_identity}" for key, each in alive.items()]


async def working(client: Client, ended: Collection[str]) -> list[str]:
    """The namespaces of these Leases. Raises `KubeError`."""
    return [each.metadata.namespace for each in (await _renewed(client, ended)).values()]


async def _renewed(client: Client, ended: Collection[str]) -> dict[str, Lease]:
    before = await _held(client, ended)
    if not before:
        return {}
    loop = asyncio.get_running_loop()
    end = loop.time() + max(each.spec.lease_duration_seconds or 0 for each in before.values())
    end = max(end, loop.time() + Timing().duration)
    alive: dict[str, Lease] = {}
    while before.keys() - alive.keys() and loop.time() < end:
        await asyncio.sleep(_PAUSE)
        now = await _held(client, ended)
        before = {key: each for key, each in before.items() if key in now}
        alive |= {
            key: now[key]
            for key, each in before.items()
            if now[key].metadata.resource_version != each.metadata.resource_version
        }
    return alive


async def _held(client: Client, ended: Collection[str]) -> dict[str, Lease]:
    found = (await client.list(LEASES, fields=f"metadata.name={LEASE}")).items
    return {
        f"{each.metadata.namespace}/{each.metadata.name}": each
        for each in found
        if each.spec.holder_identity and each.metadata.namespace not in ended
    }
