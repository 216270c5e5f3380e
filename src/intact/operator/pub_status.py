"""Reading and writing the status of a budget, for the gate and for the recount."""

import msgspec

from intact.kube.client import Client
from intact.kube.resources import PUBS
from intact.model.pub import PodUnavailableBudget, PubStatus


async def store_status(
    client: Client, budget: PodUnavailableBudget, status: PubStatus
) -> PodUnavailableBudget:
    """A compare-and-swap on the version that the status was made from."""
    meta = budget.metadata
    body = _body(budget, status)
    return await client.update(PUBS, body, meta.name, meta.namespace, subresource="status")


async def read_again(client: Client, budget: PodUnavailableBudget) -> PodUnavailableBudget | None:
    """The budget as the API has it now, or None if it has become another one: its rules count only
    from when the index has heard of them."""
    meta = budget.metadata
    found = await client.get(PUBS, meta.name, meta.namespace)
    return found if found.metadata.uid == meta.uid and found.spec == budget.spec else None


def _body(budget: PodUnavailableBudget, status: PubStatus) -> dict[str, object]:
    zeros = {
        "unavailableAllowed": 0,
        "currentAvailable": 0,
        "desiredAvailable": 0,
        "totalReplicas": 0,
    }
    meta = budget.metadata
    return {
        "apiVersion": PUBS.api_version,
        "kind": PUBS.kind,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "resourceVersion": meta.resource_version,
        },
        "status": zeros | msgspec.to_builtins(status),
    }


def newer(one: PodUnavailableBudget, two: PodUnavailableBudget) -> PodUnavailableBudget:
    """The later of two readings of a budget."""
    versions = one.metadata.resource_version, two.metadata.resource_version
    return two if int(versions[1]) >= int(versions[0]) else one
