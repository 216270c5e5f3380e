"""`intact why` and `intact get` on a Kubernetes without Intact, with plain PodDisruptionBudgets."""

import asyncio
import re
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from devcluster.cluster import Cluster
from intact.cli.main import main
from tests.support.namespace_under_test import NamespaceUnderTest, eventually, open_namespace
from tests.support.objects import DEPLOYMENTS, PDBS, deployment


@pytest.fixture
def ns(
    cluster: Cluster, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    yield from open_namespace(cluster, runner, request)


async def run(ns: NamespaceUnderTest, *arguments: str) -> Result:
    options = ("--kubeconfig", str(ns.cluster.kubeconfig), "-n", ns.name)
    return await asyncio.to_thread(CliRunner().invoke, main, [*arguments, *options])


async def protected(ns: NamespaceUnderTest, **spec: object) -> list[str]:
    """The names of three pods of a Deployment under a budget that has been counted."""
    await ns.create(DEPLOYMENTS, deployment("web", 3))
    names = await ns.running(3)
    selector = {"matchLabels": {"app": "web"}}
    await ns.create(PDBS, {"metadata": {"name": "web"}, "spec": {"selector": selector, **spec}})

    async def healthy() -> object:
        return (await ns.client.get(PDBS, "web", ns.name)).get("status", {}).get("currentHealthy")

    await eventually(healthy, lambda found: found == 3, "three pods to be counted")
    return names


def normal(text: str, ns: NamespaceUnderTest) -> str:
    text = re.sub(r"web-[a-z0-9]+-[a-z0-9]+", "POD", text.replace(ns.name, "NAMESPACE"))
    return re.sub(r"\(node-\d\)", "(NODE)", text)


async def test_a_pod_that_may_go(ns: NamespaceUnderTest) -> None:
    [name, *_] = await protected(ns, maxUnavailable=1)
    found = await run(ns, "why", f"pod/{name}")
    assert normal(found.output, ns) == (
        """\
pod POD (NODE) is ready
  pdb/web   1 disruption allowed   may go
It may go now.
"""
    )
    assert found.exit_code == 0
    assert (await ns.evict(name, dry_run="All")).code == 201


async def test_a_budget_that_never_allows(ns: NamespaceUnderTest) -> None:
    [name, *_] = await protected(ns, minAvailable="100%")
    found = await run(ns, "why", "pod", name)
    assert normal(found.output, ns) == (
        """\
pod POD (NODE) is ready
  pdb/web   it requires 3 of 3 pods: none can ever go; change the amount, or scale up   never
It does not go until pdb/web is changed, or its workload is scaled up.
  to let it go now: kubectl delete pod POD -n NAMESPACE
"""
    )
    assert found.exit_code == 4
    assert (await ns.evict(name, dry_run="All")).code == 429


async def test_lists(ns: NamespaceUnderTest) -> None:
    await protected(ns, maxUnavailable=1)
    budgets = await run(ns, "get", "budgets")
    assert [line.split()[:8] for line in budgets.output.splitlines()] == [
        ["NAME", "UNIT", "ALLOWED", "CURRENT", "DESIRED", "TOTAL", "DOWN", "WORKING"],
        ["pdb/web", "pods", "1", "3", "2", "3", "0", "True"],
    ]
    pods = await run(ns, "get", "pods")
    assert [line.split()[1:4] for line in pods.output.splitlines()[1:]] == [
        ["-", "pdb/web", "True"]
    ] * 3
    groups = await run(ns, "get", "groups")
    assert groups.stderr == f"no groups found in namespace {ns.name}\n"
