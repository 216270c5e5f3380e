"""Removing Intact from a cluster: first what could still refuse requests.

The mutating webhooks go last. They hold the status of PodDisruptionBudgets in groups, whose numbers
stand for groups until `give_groups_back` has closed them: in between, evictions of their pods fail.
The definitions go when nothing of Intact runs any more, and no RoleBasedGroup is left.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import NAMESPACES, PODS, PUBS, RBGS, Resource
from intact.model.listing import listed
from intact.operator.install.budgets import Say, give_groups_back, take_working_back
from intact.operator.install.groups import Fate, Refused, remove_groups
from intact.operator.install.install import CRDS
from intact.operator.install.survey import (
    Survey,
    is_shared,
    named,
    own_definitions,
    place_outside,
    survey,
    targets,
)
from intact.operator.names import LABELS
from intact.operator.rbg.pods.evictions import let_go
from intact.operator.webhook.configuration import (
    DOOR_LABEL,
    GATED_LABEL,
    MUTATING,
    NAME,
    VALIDATING,
)
from intact.rollout.names import GROUP, HELD
from intact.rollout.statefulset import is_held

_GONE_WITHIN = 90.0
_PAUSE = 0.5


async def uninstall(
    client: Client,
    namespace: str,
    *,
    outside: str = "",
    crds: bool,
    fate: Fate = Fate.KEEP,
    agreed: Survey | None = None,
    leave_to_helm: bool = False,
    say: Say,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Remove everything of Intact that is there; it can be called again.

    `outside` is the namespace that a process outside the cluster has used. `fate` is what becomes
    of RoleBasedGroups where their CRD goes, and `agreed` what the user has seen of them; without
    it, what is there now. `leave_to_helm` is for the hook of the chart: helm deletes the other
    objects of the chart after it. Raises `Refused`, before anything is removed, if RoleBasedGroups
    or a running Intact are in the way of the CRDs; and `KubeError`.
    """
    if agreed is None:
        agreed = await survey(
            client,
            namespace,
            outside=outside,
            crds=crds,
            fate=fate,
            leave_to_helm=leave_to_helm,
        )
    if agreed.refusal:
        raise Refused(agreed.refusal)
    outside = await place_outside(client, namespace, outside)
    if agreed.others:
        await _remove_namespaced(client, namespace, outside, leave_to_helm, agreed.others, say)
        return
    await _open_the_gate(client, say)  # of PodUnavailableBudgets
    keep = bool(agreed.waiting)
    deployment, *rest = targets(namespace, outside, leave_to_helm=leave_to_helm, keep_roles=keep)
    await _delete(client, *deployment, say)
    ended = await _wait_for_pods(client, namespace, say)
    if leave_to_helm and not ended:
        raise Refused("pods of Intact still exist, which would restore what is removed")
    # Its pods needed their rights to end in order, and would have made a Lease or Secret anew.
    for target in rest:
        await _delete(client, *target, say)
    # The operator may have written these again until its last pod was gone.
    await _open_the_gate(client, say)
    await give_groups_back(client, say)
    await _delete(client, MUTATING, "", NAME, say)
    await _let_pods_go(client, say)
    ours, others = await own_definitions(client)
    if crds:
        await _remove_definitions(client, ours, fate, agreed, say, ended=ended)
    else:
        if PUBS.full_name not in others:
            await take_working_back(client, now(), say)
        say("the CRDs, all budgets and all RoleBasedGroups stay; --crds removes them")
    for name in others:
        say(f"the CRD {name} stays: Intact did not install it")
    if keep:
        say(f"all ClusterRoles stay: the Intact in {listed(agreed.waiting)} shares them")
    say(f"the namespace {namespace} stays, if it exists; kubectl delete namespace removes it")


async def _remove_namespaced(
    client: Client,
    namespace: str,
    outside: str,
    leave_to_helm: bool,
    others: Sequence[str],
    say: Say,
) -> None:
    """What another installation does not share."""
    deployment, *rest = targets(namespace, outside, leave_to_helm=leave_to_helm)
    await _delete(client, *deployment, say)
    await _wait_for_pods(client, namespace, say)
    for target in rest:
        if not is_shared(*target):
            await _delete(client, *target, say)
    say(f"webhooks, roles, CRDs and all their objects stay: Intact also works in {listed(others)}")


async def _remove_definitions(
    client: Client, ours: Sequence[str], fate: Fate, agreed: Survey, say: Say, *, ended: bool
) -> None:
    if not ended:
        raise Refused("the CRDs and all RoleBasedGroups stay while pods of Intact still exist")
    if RBGS.full_name in ours:
        await remove_groups(client, agreed.groups, fate, say)
    for name in ours:
        await _delete(client, CRDS, "", name, say)


async def _open_the_gate(client: Client, say: Say) -> None:
    await _delete(client, VALIDATING, "", NAME, say)
    for label in (GATED_LABEL, DOOR_LABEL):
        for namespace in (await client.list(NAMESPACES, labels=label)).items:
            name = namespace.metadata.name
            try:
                await client.patch(NAMESPACES, {"metadata": {"labels": {label: None}}}, name)
            except NotFound:
                continue
            say(f"label {label} of namespace {name} removed")


async def _let_pods_go(client: Client, say: Say) -> None:
    """An interrupted rollout may have left pods whose finalizer keeps them from ending."""
    for pod in (await client.list(PODS, labels=GROUP)).items:
        if is_held(pod) and await let_go(client, pod):
            say(f"finalizer {HELD} of pod {pod.metadata.namespace}/{pod.metadata.name} removed")


async def _delete(
    client: Client, resource: Resource[Any], namespace: str, name: str, say: Say
) -> None:
    try:
        await client.delete(resource, name, namespace, propagation_policy="Background")
    except NotFound:
        return
    say(f"{named(resource.kind, namespace, name)} deleted")


async def _wait_for_pods(client: Client, namespace: str, say: Say) -> bool:
    """Returns whether they are gone."""
    labels = ",".join(f"{key}={value}" for key, value in LABELS.items())
    try:
        async with asyncio.timeout(_GONE_WITHIN):
            while pods := (await client.list(PODS, namespace, labels=labels)).items:
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        names = ", ".join(pod.metadata.name for pod in pods)
        say(
            f"pods of Intact still exist after {_GONE_WITHIN:.0f} s: {names}; "
            "when they are gone, run this again"
        )
        return False
    return True
