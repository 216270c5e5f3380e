"""What `intact uninstall` leaves behind under budgets: nothing opens, and nothing looks held."""

import asyncio
import sys
from pathlib import Path

from intact.kube.resources import PDBS
from intact.model.pdb import PodDisruptionBudget
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    NamespaceUnderTest,
    eventually,
)
from tests.support.objects import STATEFUL_SETS, spread_stateful_set
from tests.support.pdb_groups import Groups

SHARD = "shard"


async def intact_uninstall(cluster: ClusterWithIntact) -> str:
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        "uninstall",
        f"--kubeconfig={cluster.cluster.kubeconfig}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, said
    return said.decode()


async def test_uninstall_closes_budgets_in_groups_and_takes_working_back(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    # Pods that are evicted stay terminating, and are not replaced.
    for shard in "abc":
        body = spread_stateful_set(shard, 4, SHARD, groups.labels)
        body["spec"]["template"]["metadata"]["annotations"] = {TERMINATION_DELAY: "10m"}
        await ns.create(STATEFUL_SETS, body)
    names = await ns.running(12)
    settings = {"intact.dev/group-label-key": SHARD, "intact.dev/min-ready-replicas": "4"}
    await groups.budget(annotations=settings, maxUnavailable=1)
    # A whole group may go: four pods.
    await groups.counted(allowed=1, healthy=3, disruptions_allowed=4)
    await ns.pods("web", labels={"app": "web", "test": ns.name})
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    await ns.budget(spec)
    intact_cluster.stop()

    evicted: list[str] = []

    async def keep_evicting() -> None:
        for name in names * 1000:
            if name not in evicted and (await ns.evict(name)).code == 201:
                evicted.append(name)

    evicting = asyncio.create_task(keep_evicting())
    said = await intact_uninstall(intact_cluster)

    def is_counted(found: PodDisruptionBudget) -> bool:
        """In pods: one of twelve is or was let go."""
        return found.status.desired_healthy == 11 and bool(evicted)

    counted = await eventually(
        lambda: ns.client.get(PDBS, "llm", ns.name), is_counted, "the stock controller to count"
    )
    evicting.cancel()
    await asyncio.gather(evicting, return_exceptions=True)
    assert len(evicted) == 1
    assert counted.metadata.annotations == settings
    assert [each.type for each in counted.status.conditions] == ["DisruptionAllowed"]
    assert f"PodDisruptionBudget {ns.name}/llm counts pods from now on" in said

    working = (await ns.status()).conditions[0]
    assert (working.type, working.status, working.reason) == ("Working", "False", "Uninstalled")
    assert "1 PodUnavailableBudgets hold nothing any more" in said
    assert (await ns.delete("web")).code == 200

    # Intact comes back, and holds them again.
    intact_cluster.restore()
    await groups.counted(healthy=2)
    await eventually(
        ns.status,
        lambda found: found.conditions[0].reason == "NoPods",
        "the budget to be counted again",
    )
