"""Findings about the budgets of a cluster."""

from typing import Any

import pytest

from intact.cli.check.live import check_cluster
from intact.kube.client import Client
from intact.kube.resources import NAMESPACES, PDBS, PUBS
from intact.operator.install.crds import definitions
from intact.operator.install.install import CRDS
from intact.sandbox import MemoryApi
from tests.support.objects import DEPLOYMENTS, PODS, deployment, pod
from tests.support.pub_cases import budget

SELECTOR = {"matchLabels": {"app": "web"}}


async def cluster() -> Client:
    client = Client(MemoryApi())
    await client.create(CRDS, definitions()[0])
    await client.create(NAMESPACES, {"metadata": {"name": "apps"}})
    return client


async def codes(client: Client, namespace: str = "apps") -> list[tuple[str, str]]:
    located, unreadable, _number = await check_cluster(client, namespace)
    assert unreadable == {}
    assert all(one.place is None for one in located)
    return [(one.finding.about.name, one.finding.code) for one in located]


async def test_budgets_of_both_kinds_without_intact() -> None:
    client = await cluster()
    spec = {"maxUnavailable": 1, "selector": SELECTOR}
    await client.create(PODS, pod("web-0", labels={"app": "web"}), "apps")
    await client.create(PDBS, {"metadata": {"name": "one"}, "spec": spec}, "apps")
    await client.create(PUBS, budget(spec, "two"), "apps")
    found = await codes(client)
    assert ("two", "IB501") in found
    assert ("one", "IB403") in found
    assert await codes(client, "default") == []
    assert await codes(client, "") == found


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ({"kind": "Deployment", "name": "none"}, "IB203", "there is none of that name"),
        ({"kind": "Deploymnet", "name": "web"}, "IB203", "serves no Deploymnet in apps/v1"),
        ({"kind": "Deployment", "name": "web"}, "IB204", "wants 0 replicas"),
    ],
)
async def test_targets_are_looked_for(target: Any, code: str, said: str) -> None:
    client = await cluster()
    await client.create(DEPLOYMENTS, deployment("web", 0), "apps")
    spec = {"maxUnavailable": 1, "targetRef": {"apiVersion": "apps/v1"} | target}
    await client.create(PUBS, budget(spec, "two"), "apps")
    located, _, number = await check_cluster(client, "apps")
    [found] = [one.finding for one in located if one.finding.code == code]
    assert said in found.message
    assert number == 1
