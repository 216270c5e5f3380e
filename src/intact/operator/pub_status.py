"""Reading and writing the status of a budget."""

import msgspec

from intact.kube.resources import PUBS
from intact.model.pub import PodUnavailableBudget, PubStatus


def status_body(budget: PodUnavailableBudget, status: PubStatus) -> dict[str, object]:
    """What is sent to the status subresource: a compare-and-swap on the budget's version."""
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
