"""Reads what a verdict on one pod needs: where labels tell which pods these are, not all pods of
its namespace."""

import asyncio

from intact.budget.pdb.group_settings import GroupSettings
from intact.budget.pdb.group_sources import LWS_GROUP_KEY, Source, reference_of
from intact.budget.pub.unreadable import covers_everything
from intact.cli.reading import DETAILED_PODS, Reading
from intact.kube.client import Client
from intact.kube.resources import PDBS, PUBS
from intact.model.meta import LabelSelector
from intact.model.pod import DetailedPod
from intact.picture.coverage import coverage_of_pdb, coverage_of_pub
from intact.picture.definitions import NamespaceDefinitions
from intact.picture.objects import Objects

ALL = ""
"""The selector of all pods."""
_MOST_SELECTORS = 5


async def read_around(client: Client, name: str, namespace: str) -> tuple[DetailedPod, Objects]:
    """The pod, its budgets, and the pods that these count. Raises `NotFound` if it is not there."""
    reading = Reading(client, namespace)
    pod, pdbs, pubs, intact = await asyncio.gather(
        client.get(DETAILED_PODS, name, namespace),
        reading.all(PDBS),
        reading.all(PUBS),
        reading.intact(),
    )
    found = Objects(pods=[pod], pdbs=pdbs, pubs=pubs, intact=intact)
    lists = await asyncio.gather(
        *(client.list(DETAILED_PODS, namespace, labels=one) for one in needed(found, pod))
    )
    pods = {pod.metadata.uid: pod}
    pods |= {one.metadata.uid: one for each in lists for one in each.items}
    objects = Objects(pods=list(pods.values()), pdbs=pdbs, pubs=pubs, intact=intact)
    return pods[pod.metadata.uid], await reading.completed(objects)


def needed(found: Objects, pod: DetailedPod) -> list[str]:
    """Label selectors for the pods that count for this one."""
    selectors: set[str] = set()
    for pub in found.pubs:
        if pub.spec.target_ref is not None or covers_everything(pub):
            return [ALL]  # only owners tell, or nothing does
        if coverage_of_pub(pub, lambda _pod: ()).covers(pod):
            selectors.add(selector_text(pub.spec.selector))
    for pdb in found.pdbs:
        if coverage_of_pdb(pdb, NamespaceDefinitions()).covers(pod):
            selectors.add(selector_text(pdb.spec.selector))
    reference = reference_of(pod, GroupSettings())
    if reference is not None and reference.source is Source.LEADER_WORKER_SET:
        selectors.add(f"{LWS_GROUP_KEY}={reference.group}")
    elif reference is not None:
        return [ALL]  # no label names a PodGroup
    if ALL in selectors or len(selectors) > _MOST_SELECTORS:
        return [ALL]
    return sorted(selectors)


def selector_text(selector: LabelSelector | None) -> str:
    """As a query writes it."""
    if selector is None:
        return ALL
    terms = [f"{key}={value}" for key, value in sorted(selector.match_labels.items())]
    for one in selector.match_expressions:
        match one.operator:
            case "In" | "NotIn":
                terms.append(f"{one.key} {one.operator.lower()} ({','.join(one.values)})")
            case "Exists":
                terms.append(one.key)
            case "DoesNotExist":
                terms.append(f"!{one.key}")
            case _:
                return ALL
    return ",".join(terms)
