"""Reading and writing the status of a budget, for the gate and for the recount."""

from intact.budget.pub.ledger import with_shown_pods
from intact.budget.pub.settings import PubSettings, read_settings
from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import PUBS
from intact.model.pub import PodUnavailableBudget, PubStatus
from intact.model.versions import is_before
from intact.operator.pub.index import PubEntry


async def store_status(
    client: Client, entry: PubEntry, base: PodUnavailableBudget, status: PubStatus
) -> None:
    """A compare-and-swap: it raises Conflict unless the stored version is still that of `base`."""
    meta = base.metadata
    status = with_shown_pods(status)
    with entry.turn.write():
        stored = await client.update(
            PUBS, _body(base, status), meta.name, meta.namespace, subresource="status"
        )
        entry.turn.stored(stored.metadata.resource_version)
    client.history.learn(PUBS, stored)
    entry.take(stored)


async def read_again(client: Client, entry: PubEntry) -> PodUnavailableBudget:
    """After a conflict; returns the budget as it is stored. The entry does not take a budget whose
    spec has changed meanwhile: a new spec counts only from when the index has heard of it. A
    version below the one that was known before the read is of another history."""
    meta = entry.budget.metadata
    found = await client.get(PUBS, meta.name, meta.namespace)
    if is_before(found.metadata.resource_version, meta.resource_version):
        client.history.went_back()
    elif found.metadata.uid == meta.uid and found.spec == entry.budget.spec:
        client.history.learn(PUBS, found)
        entry.take(found)
    return found


async def settings_now(client: Client, entry: PubEntry) -> PubSettings:
    """The settings as they are stored. The store may be behind, and a request that passes because
    of a setting stores nothing that would find this out."""
    try:
        return read_settings(await read_again(client, entry))
    except NotFound:
        return entry.settings


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
        "status": zeros | status.stored_form(),
    }
