"""What becomes of RoleBasedGroups when their definition goes.

The garbage collector deletes whatever a deleted RoleBasedGroup owns: every workload, and so every
pod. So the definition goes only when no RoleBasedGroup is left, and each one has gone before it in
the way that the user has chosen:

| fate | the RoleBasedGroup | its workloads, Services and ConfigMap |
|---|---|---|
| `KEEP` | stays, and so does its definition | stay |
| `DELETE` | goes | go, and the pods with them |
| `ORPHAN` | goes, after the references to it have | stay as they are, with all pods |

Its history (ControllerRevisions) and its scaling adapters mean nothing without it and always go.
A RoleBasedGroup that the user was not asked about is never touched. Intact does not run meanwhile,
so one that is created in between has no workloads to lose.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound
from intact.kube.resources import PODS, RBGS, SCALING_ADAPTERS, Resource, untyped
from intact.model.listing import listed
from intact.operator.install.budgets import Say
from intact.operator.rbg.resources import OWNED, REVISIONS
from intact.rollout.names import GROUP

Json = dict[str, Any]

_GONE_WITHIN = 90.0
_PAUSE = 0.2
_ATTEMPTS = 10
_GROUPS = untyped(RBGS.group, RBGS.version, RBGS.plural, RBGS.kind)
_RECORDS = (REVISIONS.kind, SCALING_ADAPTERS.kind)
"""What is of no use without the RoleBasedGroup."""


class Fate(StrEnum):
    KEEP = "keep"
    DELETE = "delete"
    ORPHAN = "orphan"


class Refused(KubeError):
    """Removing this would take more along than the user has agreed to. The message says what to
    do."""


@dataclass(frozen=True, slots=True)
class OwnedObject:
    resource: Resource[Json]
    name: str
    uid: str

    @property
    def is_record(self) -> bool:
        return self.resource.kind in _RECORDS


@dataclass(frozen=True, slots=True)
class FoundGroup:
    namespace: str
    name: str
    uid: str
    owned: tuple[OwnedObject, ...]
    pods: int

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} ({self.pods} pods)"


async def find_groups(client: Client) -> list[FoundGroup]:
    """All RoleBasedGroups, with what they own. Raises `KubeError`."""
    groups = await _listed(client, _GROUPS)
    if not groups:
        return []
    owned: dict[str, list[OwnedObject]] = {}
    for kind in OWNED:
        resource = untyped(kind.group, kind.version, kind.plural, kind.kind)
        for one in await _listed(client, resource, labels=GROUP):
            meta = one["metadata"]
            for reference in meta.get("ownerReferences") or []:
                found = OwnedObject(resource, meta["name"], meta["uid"])
                owned.setdefault(reference["uid"], []).append(found)
    pods: dict[tuple[str, str], int] = {}
    for pod in (await client.list(PODS, labels=GROUP)).items:
        of = (pod.metadata.namespace, pod.metadata.labels[GROUP])
        pods[of] = pods.get(of, 0) + 1
    return [
        FoundGroup(
            meta["namespace"],
            meta["name"],
            meta["uid"],
            tuple(owned.get(meta["uid"], ())),
            pods.get((meta["namespace"], meta["name"]), 0),
        )
        for meta in (each["metadata"] for each in groups)
    ]


def refusal(groups: Iterable[FoundGroup]) -> str:
    """Why the definition cannot go while there are these; empty if there are none."""
    found = [str(each) for each in groups]
    if not found:
        return ""
    return (
        f"the cluster has {len(found)} RoleBasedGroups, and without its CRD Kubernetes deletes "
        f"them with all their workloads and pods: {listed(found)}. "
        "Give --orphan-groups to remove them and keep their workloads running, or --delete-groups "
        "to delete their workloads and pods as well"
    )


async def remove_groups(client: Client, agreed: Iterable[FoundGroup], fate: Fate, say: Say) -> None:
    """Remove the RoleBasedGroups that the user has agreed to. Intact must not run any more.

    Raises `Refused` if there are others, then or afterwards, and `KubeError`.
    """
    known = {each.uid for each in agreed}
    present = await find_groups(client)
    _refuse_others([each for each in present if each.uid not in known])
    if fate is Fate.KEEP and present:
        raise Refused(refusal(present))
    for group in present:
        if fate is Fate.ORPHAN:
            await _orphan(client, group, say)
        else:
            await _delete(client, group, say)
    _refuse_others(await find_groups(client))


def _refuse_others(found: list[FoundGroup]) -> None:
    if found:
        raise Refused(
            f"RoleBasedGroups were created meanwhile: {listed(map(str, found))}. They and the "
            "CRDs stay; run this again"
        )


async def _orphan(client: Client, group: FoundGroup, say: Say) -> None:
    for one in group.owned:
        if one.is_record:
            await _delete_owned(client, group, one)
        else:
            await _release(client, group, one)
    # For dependents of kinds that Intact does not know, Kubernetes does the same.
    await _delete_group(client, group, "Orphan")
    kept = [f"{one.resource.kind} {one.name}" for one in group.owned if not one.is_record]
    say(
        f"RoleBasedGroup {group.namespace}/{group.name} deleted; without an owner from now on: "
        f"{listed(kept, len(kept)) or 'nothing'}"
    )


async def _release(client: Client, group: FoundGroup, one: OwnedObject) -> None:
    """Take the reference to the RoleBasedGroup from what it owns."""
    for _ in range(_ATTEMPTS):
        try:
            meta = (await client.get(one.resource, one.name, group.namespace))["metadata"]
            references = meta.get("ownerReferences") or []
            others = [each for each in references if each["uid"] != group.uid]
            if meta["uid"] != one.uid or others == references:
                return
            version = meta["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version, "ownerReferences": others or None}}
            await client.patch(one.resource, patch, one.name, group.namespace)
        except NotFound:
            return
        except Conflict:
            continue
        else:
            return
    raise KubeError(
        f"{one.resource.kind} {group.namespace}/{one.name} changes faster than it can be written"
    )


async def _delete(client: Client, group: FoundGroup, say: Say) -> None:
    await _delete_group(client, group, "Background")
    for one in group.owned:
        await _wait_gone(client, one.resource, one.name, group.namespace, one.uid)
    say(f"RoleBasedGroup {group.namespace}/{group.name} deleted, with all that it owned")


async def _delete_group(client: Client, group: FoundGroup, policy: str) -> None:
    try:
        await client.delete(
            _GROUPS, group.name, group.namespace, propagation_policy=policy, uid=group.uid
        )
    except NotFound:
        return
    await _wait_gone(client, _GROUPS, group.name, group.namespace, group.uid)


async def _delete_owned(client: Client, group: FoundGroup, one: OwnedObject) -> None:
    try:
        await client.delete(one.resource, one.name, group.namespace, uid=one.uid)
    except (NotFound, Conflict):
        return  # it is gone, or another has its name


async def _wait_gone(
    client: Client, resource: Resource[Json], name: str, namespace: str, uid: str
) -> None:
    found: Json = {}
    try:
        async with asyncio.timeout(_GONE_WITHIN):
            while True:
                found = (await client.get(resource, name, namespace))["metadata"]
                if found["uid"] != uid:
                    return
                await asyncio.sleep(_PAUSE)
    except NotFound:
        return
    except TimeoutError:
        finalizers = listed(found.get("finalizers") or []) or "none"
        raise KubeError(
            f"{resource.kind} {namespace}/{name} still exists after {_GONE_WITHIN:.0f} s "
            f"(finalizers: {finalizers}); the CRDs stay. When it is gone, run this again"
        ) from None


async def _listed(client: Client, resource: Resource[Json], labels: str = "") -> list[Json]:
    try:
        return (await client.list(resource, labels=labels)).items
    except NotFound:
        return []  # the kind is not served
