"""Removing Intact from a cluster: first what could still refuse requests.

The mutating webhooks go last. They hold the status of PodDisruptionBudgets in groups, whose numbers
stand for groups until `give_groups_back` has closed them: in between, evictions of their pods fail.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import NAMESPACES, PODS, Resource, untyped
from intact.operator.install.budgets import give_groups_back, take_working_back
from intact.operator.install.crds import definitions
from intact.operator.install.install import CRDS
from intact.operator.install.manifests import manifests
from intact.operator.names import LABELS, LEASE
from intact.operator.rbg.evictions import let_go
from intact.operator.webhook import certificates
from intact.operator.webhook.configuration import (
    DOOR_LABEL,
    GATED_LABEL,
    MUTATING,
    NAME,
    VALIDATING,
)
from intact.rollout.names import GROUP, HELD
from intact.rollout.statefulset import is_held

Say = Callable[[str], None]
_GONE_WITHIN = 90.0
_PAUSE = 0.5

_CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding")
_LEFT = ("Namespace", "CustomResourceDefinition")


async def uninstall(
    client: Client,
    namespace: str,
    *,
    outside: str = "",
    crds: bool,
    say: Say,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Remove everything of Intact that is there. Raises `KubeError`; it can be called again.

    `outside` is the namespace that a process outside the cluster has used.
    """
    await _open_the_gate(client, say)  # of PodUnavailableBudgets
    for manifest in reversed(manifests(namespace=namespace, image="")):
        if manifest["kind"] not in _LEFT:
            await _delete(client, _resource_of(manifest), manifest["metadata"], say)
    lease = untyped("coordination.k8s.io", "v1", "leases", "Lease")
    for place in dict.fromkeys((namespace, outside or namespace)):
        for resource, name in ((certificates.SECRETS, certificates.SECRET), (lease, LEASE)):
            await _delete(client, resource, {"name": name, "namespace": place}, say)
    await _wait_for_pods(client, namespace, say)
    # The operator may have written these again until its last pod was gone.
    await _open_the_gate(client, say)
    await give_groups_back(client, say)
    await _delete(client, MUTATING, {"name": NAME}, say)
    await _let_pods_go(client, say)
    if crds:
        for definition in definitions():
            await _delete(client, CRDS, definition["metadata"], say)
    else:
        await take_working_back(client, now(), say)
        say("the CRDs and all budgets stay; --crds removes them")
    say(f"the namespace {namespace} stays, if it exists; kubectl delete namespace removes it")


async def _open_the_gate(client: Client, say: Say) -> None:
    await _delete(client, VALIDATING, {"name": NAME}, say)
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
    client: Client, resource: Resource[Any], metadata: dict[str, Any], say: Say
) -> None:
    name, namespace = metadata["name"], metadata.get("namespace", "")
    try:
        await client.delete(resource, name, namespace, propagation_policy="Background")
    except NotFound:
        return
    say(f"{resource.kind} {f'{namespace}/' if namespace else ''}{name} deleted")


async def _wait_for_pods(client: Client, namespace: str, say: Say) -> None:
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


def _resource_of(manifest: dict[str, Any]) -> Resource[dict[str, Any]]:
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = manifest["kind"]
    plural = f"{kind.lower()}s".replace("policys", "policies")
    return untyped(group, version, plural, kind, namespaced=kind not in _CLUSTER_WIDE)
