"""Namespaces full of pods under budgets, in a cluster without controllers.

The pods belong to ReplicaSets: budgets take their totals from the scale of those.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from bench.child import BenchError
from bench.pods import pod, status
from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.resources import PUBS, untyped
from intact.model.pub import PodUnavailableBudget

AT_ONCE = 64
_NAMESPACES = untyped("", "v1", "namespaces", "Namespace", namespaced=False)
_ACCOUNTS = untyped("", "v1", "serviceaccounts", "ServiceAccount")
_REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")
_ALL_PODS = untyped("", "v1", "pods", "Pod")


def pod_name(number: int) -> str:
    return f"web-{number}"


def gate_options(bind: str, controllers: str = "pub") -> tuple[str, ...]:
    """The options of an operator that answers admission reviews."""
    return ("--install", f"--controllers={controllers}", f"--webhook-bind={bind}")


async def fill(client: Client, namespace: str, sets: int, pods_each: int) -> None:
    """ReplicaSets set-0, set-1, ... with ready pods; pod N belongs to set N // pods_each."""
    await client.create(_NAMESPACES, {"metadata": {"name": namespace}})
    # The controller manager would make it; without it the API server admits no pod.
    await client.create(_ACCOUNTS, {"metadata": {"name": "default"}}, namespace)
    uids = [await _create_set(client, namespace, number, pods_each) for number in range(sets)]

    async def one(number: int) -> None:
        owner = number // pods_each
        body = pod(number)
        body["metadata"] |= {
            "name": pod_name(number),
            "namespace": namespace,
            "labels": body["metadata"]["labels"] | {"app": f"set-{owner}"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"set-{owner}",
                    "uid": uids[owner],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        }
        await client.create(_ALL_PODS, body, namespace, field_manager="kube-controller-manager")
        await client.patch(
            _ALL_PODS,
            {"status": status(number)},
            pod_name(number),
            namespace,
            subresource="status",
            field_manager="kubelet",
        )

    await all_of(range(sets * pods_each), one)


async def _create_set(client: Client, namespace: str, number: int, replicas: int) -> str:
    labels = {"app": f"set-{number}"}
    created: dict[str, Any] = await client.create(
        _REPLICA_SETS,
        {
            "metadata": {"name": f"set-{number}"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "server", "image": "example.com/server:1"}]},
                },
            },
        },
        namespace,
    )
    uid: str = created["metadata"]["uid"]
    return uid


async def protect(client: Client, namespace: str, number: int, max_unavailable: int | str) -> None:
    """A budget over the pods of one ReplicaSet, of the same name."""
    await client.create(
        PUBS,
        {
            "apiVersion": PUBS.api_version,
            "kind": PUBS.kind,
            "metadata": {"name": f"set-{number}"},
            "spec": {
                "selector": {"matchLabels": {"app": f"set-{number}"}},
                "maxUnavailable": max_unavailable,
            },
        },
        namespace,
    )


def works(budget: PodUnavailableBudget) -> bool:
    status = budget.status
    return status.observed_generation == budget.metadata.generation and any(
        condition.type == "Working" and condition.status == "True"
        for condition in status.conditions
    )


async def until_all(
    client: Client,
    namespace: str,
    condition: Callable[[PodUnavailableBudget], bool],
    within: float = 120,
) -> None:
    """Wait until the condition holds for all budgets of a namespace."""
    wrong: list[PodUnavailableBudget] = []
    try:
        async with asyncio.timeout(within):
            while True:
                budgets = (await client.list(PUBS, namespace)).items
                wrong = [budget for budget in budgets if not condition(budget)]
                if budgets and not wrong:
                    return
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise BenchError(
            f"{len(wrong)} budgets are wrong after {within:.0f} s: {wrong[:1]}"
        ) from None


async def all_of(
    numbers: Iterable[int], one: Callable[[int], Awaitable[None]], at_once: int = AT_ONCE
) -> None:
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            try:
                await one(number)
            except KubeError as error:
                raise BenchError(str(error)) from error

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
