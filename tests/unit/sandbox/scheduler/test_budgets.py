"""Pods that budgets would keep."""

from typing import Any

from intact.kube.client import Client
from intact.sandbox import MemoryApi
from intact.sandbox.scheduler.budgets import violating
from tests.support.objects import PDBS
from tests.support.scheduling import info

A = {"app": "a"}


async def budget(client: Client, name: str, selector: Any, allowed: int, **status: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}}
    await client.create(PDBS, body, "default")
    status = {"status": {"disruptionsAllowed": allowed, **status}}
    await client.patch(PDBS, status, name, "default", subresource="status")


async def test_as_many_go_as_the_budget_allows(api: MemoryApi, client: Client) -> None:
    pods = [info(name, labels=A, namespace="default") for name in ("p", "q", "r")]
    bare = info("bare", namespace="default")
    assert violating(api, [*pods, bare]) == []
    await budget(client, "everything", {}, 0)
    assert violating(api, [*pods, bare]) == []
    await budget(client, "one", {"matchLabels": A}, 1, disruptedPods={"q": "2026-01-01T00:00:00Z"})
    assert [each.name for each in violating(api, [*pods, bare])] == ["r"]
    await budget(client, "none", {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, 0)
    assert [each.name for each in violating(api, [*pods, bare])] == ["p", "q", "r"]
