"""Native PodDisruptionBudgets that count groups.

The groups are PodGroups where the server has them, since Kubernetes 1.36; before that they are
groups of a LeaderWorkerSet. `tests/cluster/pdb/test_workload_ref.py` has those of 1.35.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from devcluster import pins
from intact.kube.client import PatchType
from intact.kube.resources import PDBS as TYPED
from intact.kube.resources import untyped
from intact.model.pdb import PodDisruptionBudget
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import Answer, NamespaceUnderTest, eventually
from tests.support.objects import PDBS, PODS, Json, pod

POD_GROUPS = untyped("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
WORKLOADS = untyped("scheduling.k8s.io", "v1alpha2", "workloads", "Workload")
SCOPE = "intact.dev/budget-scope"
LWS = "leaderworkerset.sigs.k8s.io"
_VERSION = pins.as_numbers(pins.chosen_version())
HAS_POD_GROUPS = _VERSION >= (1, 36)
NEEDS_POD_GROUPS = pytest.mark.kubernetes_version(
    "since", "1.36", "the API server has PodGroups since 1.36"
)


def _apiserver_flags() -> tuple[str, ...]:
    """With these the API server serves Workloads and, since 1.36, PodGroups."""
    if _VERSION < (1, 35):
        return ()
    served = "v1alpha2" if HAS_POD_GROUPS else "v1alpha1"
    return (
        "--feature-gates=GenericWorkload=true",
        f"--runtime-config=scheduling.k8s.io/{served}=true",
    )


APISERVER_FLAGS = _apiserver_flags()
LABELS = {"app": "llm"}
NODES = ("node-0", "node-1", "node-2")


class ClusterWithPodGroups(ClusterWithIntact):
    """Its API server serves PodGroups, if its version has them."""

    def __init__(self) -> None:
        super().__init__({"kube-apiserver": APISERVER_FLAGS})


class Groups:
    """Groups of pods in a namespace, and the PodDisruptionBudgets that count them."""

    def __init__(self, ns: NamespaceUnderTest) -> None:
        self.ns = ns
        self.labels = LABELS | {"test": ns.name}
        self._sizes: dict[str, int] = {}

    # Objects

    async def workload(self, name: str = "llm", need: int = 3) -> None:
        if not HAS_POD_GROUPS:
            return
        template = {"name": "worker", "schedulingPolicy": {"gang": {"minCount": need}}}
        body = {"metadata": {"name": name}, "spec": {"podGroupTemplates": [template]}}
        await self.ns.create(WORKLOADS, body)

    async def pod_group(self, name: str, need: int = 3, workload: str = "llm") -> None:
        self._sizes[name] = need
        if not HAS_POD_GROUPS:
            return
        spec: Json = {"schedulingPolicy": {"gang": {"minCount": need}}}
        if workload:
            reference = {"workloadName": workload, "podGroupTemplateName": "worker"}
            spec["podGroupTemplateRef"] = {"workload": reference}
        await self.ns.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec})

    async def pods_of(self, group: str, nodes: Mapping[str, str]) -> None:
        """Create the pods of a PodGroup; `nodes` by name."""
        if not HAS_POD_GROUPS:
            await self.lws_pods(group, nodes, self._sizes[group])
            return
        for name, node in nodes.items():
            body = pod(name, node=node, labels={**self.labels, "group": group})
            body["spec"]["schedulingGroup"] = {"podGroupName": group}
            await self.ns.create(PODS, body)
        await self.ns.ready(*nodes)

    async def group(
        self,
        name: str,
        *,
        need: int,
        pods: int,
        workload: str = "llm",
        nodes: Sequence[str] = NODES,
    ) -> None:
        """A PodGroup with its pods."""
        await self.pod_group(name, need, workload)
        await self.pods_of(name, spread(name, pods, *nodes))

    async def red_and_blue(self) -> dict[str, int]:
        """Two PodGroups of three pods, of which node-0 holds two each. What each needs."""
        await self.workload()
        for name in ("red", "blue"):
            await self.group(name, need=3, pods=3, nodes=("node-0", "node-1"))
        return {"red": 3, "blue": 3}

    async def protected_red_and_blue(self) -> PodDisruptionBudget:
        """The same under a budget that lets one of both go, once it is counted."""
        await self.red_and_blue()
        await self.budget(minAvailable=1)
        return await self.counted(allowed=1, healthy=2)

    async def lws_pods(self, group: str, nodes: Mapping[str, str], size: int) -> None:
        """Create pods with the labels and the annotation that a LeaderWorkerSet sets."""
        labels = {
            **self.labels,
            "group": group,
            f"{LWS}/name": "llm",
            f"{LWS}/group-key": group,
        }
        for name, node in nodes.items():
            meta = {"labels": labels, "annotations": {f"{LWS}/size": str(size)}}
            await self.ns.create(PODS, pod(name, node=node, **meta))
        await self.ns.ready(*nodes)

    # Budgets

    async def budget(
        self,
        scope: str | None = "Workload",
        annotations: Mapping[str, str] | None = None,
        name: str = "llm",
        **spec: Any,
    ) -> None:
        body = {
            "metadata": {
                "name": name,
                "labels": {SCOPE: scope} if scope else {},
                "annotations": dict(annotations or {}),
            },
            "spec": {"selector": {"matchLabels": LABELS}, **spec},
        }
        await self.ns.create(PDBS, body)

    async def stored(self, name: str = "llm") -> PodDisruptionBudget:
        return await self.ns.client.get(TYPED, name, self.ns.name)

    async def counted(
        self,
        allowed: int | None = None,
        healthy: int | None = None,
        *,
        name: str = "llm",
        matches: Callable[[PodDisruptionBudget], bool] = lambda _: True,
        **status: int,
    ) -> PodDisruptionBudget:
        """Wait until the budget allows so many groups to go, and counts so many as healthy."""

        def is_so(found: PodDisruptionBudget) -> bool:
            counters = replicas(found)
            return (
                found.status.observed_generation == found.metadata.generation
                and bool(counters)
                and allowed in (None, counters["disruptionsAllowedReplicas"])
                and healthy in (None, counters["currentHealthyReplicas"])
                and all(getattr(found.status, key) == value for key, value in status.items())
                and matches(found)
            )

        what = f"{name} to allow {allowed} of {healthy} groups, {status}"
        return await eventually(lambda: self.stored(name), is_so, what)

    async def edit(self, name: str = "llm", **body: Any) -> Answer:
        path = PDBS.path(self.ns.name, name)
        return await self.ns.ask("PATCH", path, body, {}, PatchType.MERGE)

    async def annotate(self, **annotations: str | None) -> Answer:
        return await self.edit(metadata={"annotations": annotations})


def spread(group: str, count: int, *nodes: str) -> dict[str, str]:
    """So many pods of a group over these nodes, by name."""
    return {f"{group}-{number}": nodes[number % len(nodes)] for number in range(count)}


def replicas(budget: PodDisruptionBudget) -> dict[str, int]:
    text = budget.metadata.annotations.get("intact.dev/replicas", "{}")
    found: dict[str, int] = msgspec.json.decode(text)
    return found


def condition(budget: PodDisruptionBudget, kind: str) -> tuple[str, str, str]:
    """Status, reason and message."""
    [found] = [each for each in budget.status.conditions if each.type == kind]
    return found.status, found.reason, found.message
