"""Budgets over groups of pods that say the same: one group, or as many pods, may be missing."""

from collections.abc import Awaitable, Callable

from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.node_pool import LABELS, SIZE
from tests.support.objects import PDBS, Json

NAME = "budget"
_SELECTOR = {"matchLabels": LABELS}
Budget = Callable[[NamespaceUnderTest, int], Awaitable[None]]
"""Creates it, and waits until it has counted so many groups."""


async def pods_pdb(ns: NamespaceUnderTest, groups: int) -> None:
    """Stock: as many pods may be missing as one group has."""
    spec = {"selector": _SELECTOR, "maxUnavailable": SIZE}
    await ns.create(PDBS, {"metadata": {"name": NAME}, "spec": spec})
    await _shows(ns, {"currentHealthy": groups * SIZE, "disruptionsAllowed": SIZE})


async def groups_pdb(ns: NamespaceUnderTest, groups: int) -> None:
    metadata: Json = {"name": NAME, "labels": {"intact.dev/budget-scope": "Workload"}}
    metadata["annotations"] = {
        "intact.dev/group-label-key": "group",
        "intact.dev/min-ready-replicas": str(SIZE),
    }
    spec = {"selector": _SELECTOR, "maxUnavailable": 1}
    await ns.create(PDBS, {"metadata": metadata, "spec": spec})
    await _shows(ns, {"desiredHealthy": (groups - 1) * SIZE})


async def groups_pub(ns: NamespaceUnderTest, groups: int) -> None:
    policy = {"groupLabelKey": "group", "minReadyReplicas": SIZE}
    spec = {"selector": _SELECTOR, "maxUnavailable": 1, "podGroupPolicy": policy}
    await ns.budget(spec, NAME, total_replicas=groups)


async def _shows(ns: NamespaceUnderTest, status: dict[str, int]) -> None:
    async def look() -> Json:
        return dict((await ns.client.get(PDBS, NAME, ns.name)).get("status", {}))

    await eventually(
        look, lambda now: status.items() <= now.items(), f"the budget to show {status}"
    )
