"""`intact check` where Intact has the account and the Deployment of its manifests."""

import asyncio
import re

from click.testing import CliRunner, Result

from intact.cli.main import main
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from intact.kube.resources import untyped
from tests.support.cluster_with_account import HOME
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import eventually

CLUSTER_ROLES = untyped(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
NODES = ["nodes"]


async def checked(found: ClusterWithIntact) -> Result:
    arguments = ["check", "-n", HOME, "--kubeconfig", str(found.cluster.kubeconfig)]
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


def line(result: Result, name: str) -> str:
    [found] = [each for each in result.output.splitlines() if each[6:].startswith(f"{name}  ")]
    return re.sub(r" {2,}", " ", found)


async def test_the_replicas_and_the_rights_of_the_manifests(
    cluster_with_account: ClusterWithIntact,
) -> None:
    result = await eventually(
        lambda: checked(cluster_with_account),
        lambda found: "2 of 2 ready" in found.output,
        "the replicas of the Deployment",
    )
    assert line(result, "replicas") == f"OK replicas 2 of 2 ready (Deployment {HOME}/intact)"
    assert line(result, "versions") == "OK versions all replicas run example.test/intact:1"
    assert line(result, "rights") == (
        f"OK rights the account {HOME}/intact has all that this release uses"
    )
    # The replicas of the Deployment do nothing here: a process beside the cluster leads.
    assert line(result, "leader").startswith("WARN leader ")
    assert line(result, "leader").endswith(", which is no pod of the Deployment")
    assert result.output.splitlines()[-1] == "1 budget: nothing found"
    assert result.exit_code == 3


async def test_a_right_that_the_account_lacks(cluster_with_account: ClusterWithIntact) -> None:
    cluster = cluster_with_account.cluster
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        role = await client.get(CLUSTER_ROLES, "intact")
        rules = role["rules"]
        without = [rule for rule in rules if rule["resources"] != NODES]
        await client.patch(CLUSTER_ROLES, {"rules": without}, "intact")
        try:
            # The API server knows the new rules after a moment.
            result = await eventually(
                lambda: checked(cluster_with_account),
                lambda found: "FAIL  rights" in found.output,
                "the right to be missed",
            )
        finally:
            await client.patch(CLUSTER_ROLES, {"rules": rules}, "intact")
    assert line(result, "rights") == (
        "FAIL rights Intact may not get nodes: apply the roles of `intact manifests`"
    )
    assert result.exit_code == 4
