"""PodDisruptionBudgets beside Intact. What the real controller counts is in tests/contract."""

import asyncio

from intact.budget.pdb.group_settings import GROUP_LABEL_KEY, MIN_READY_REPLICAS
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.sandbox import run
from intact.sandbox.cluster import Sandbox
from intact.sandbox.intact import Intact
from tests.support.objects import PDBS, PODS, STATEFUL_SETS, Json, stateful_set

GROUPS = {
    "labels": {SCOPE_LABEL: "Workload"},
    "annotations": {
        GROUP_LABEL_KEY: "app",
        MIN_READY_REPLICAS: "2",
    },
}


async def pods_under(sandbox: Sandbox, **metadata: object) -> Json:
    """Three groups of two pods, under a budget of one: of one group, or of one pod. Returns the
    budget as it is after some seconds."""
    client = sandbox.client()
    for number in range(3):
        await sandbox.add_node(f"node-{number}")
        body = stateful_set(f"w-{number}", 2)
        body["spec"]["template"]["metadata"]["labels"]["all"] = "yes"
        await client.create(STATEFUL_SETS, body, "default")
    selector = {"matchLabels": {"all": "yes"}}
    spec = {"maxUnavailable": 1, "selector": selector}
    await client.create(PDBS, {"metadata": {"name": "b", **metadata}, "spec": spec}, "default")
    await asyncio.sleep(10)
    assert len((await client.list(PODS, "default")).items) == 6
    return await client.get(PDBS, "b", "default")


def counters(budget: Json) -> tuple[int, int, int, int]:
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    allowed, current, desired, expected = (budget["status"][name] for name in names)
    return allowed, current, desired, expected


def test_without_intact_a_budget_counts_pods_whatever_its_label_says() -> None:
    async def main() -> None:
        async with Sandbox().running() as sandbox:
            budget = await pods_under(sandbox, **GROUPS)
            assert counters(budget) == (1, 6, 5, 6)
            assert budget["metadata"]["annotations"] == GROUPS["annotations"]
            assert [each["type"] for each in budget["status"]["conditions"]] == [
                "DisruptionAllowed"
            ]

    run(main(), seed=1)


def test_with_intact_the_counts_of_groups_stand_and_both_come_to_rest() -> None:
    async def main() -> None:
        sandbox = Sandbox()
        async with sandbox.running(), Intact(sandbox).running():
            budget = await pods_under(sandbox, **GROUPS)
            # One group may go: its two pods.
            assert budget["status"]["disruptionsAllowed"] == 2
            await asyncio.sleep(60)
            again = await sandbox.client().get(PDBS, "b", "default")
            assert again["metadata"]["resourceVersion"] == budget["metadata"]["resourceVersion"]

    run(main(), seed=1)
