"""The objects that define groups: followed once they are served, in the shapes of each version."""

import msgspec

from intact.kube.resources import untyped
from intact.sandbox import Kind
from tests.support.objects import PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import LABELS, holding
from tests.unit.operator.pub.scene import NS

POD_GROUPS = untyped("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")
WORKLOADS = untyped("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")


@simulated
async def test_a_source_is_followed_once_it_is_served() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await scene.pod("x", labels=LABELS)
        await groups.budget(annotations={}, minAvailable=0)
        assert groups.replicas() == (0, 0, 0, 0)
        kind = Kind(POD_GROUPS.group, "v1alpha2", "podgroups", "PodGroup")
        scene.api.register(kind)
        spec = {"schedulingPolicy": {"gang": {"minCount": 1}}}
        await scene.make(POD_GROUPS, "pg", spec=spec)
        for name in ("y", "z"):
            body = pod_of(name, {"schedulingGroup": {"podGroupName": "pg"}})
            await scene.client.create(PODS, body, NS)
            await scene.set_ready(name)
        await scene.settle(31)
        assert groups.replicas() == (1, 1, 0, 1)
        assert scene.counters()[:2] == (2, 2)
        await scene.client.patch(
            POD_GROUPS, {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}, "pg", NS
        )
        await scene.settle()
        assert groups.replicas() == (0, 0, 0, 1)
        await scene.client.delete(POD_GROUPS, "pg", NS)
        await scene.settle()
        assert scene.reason() == "WorkloadResolutionFailed"


def pod_of(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": LABELS},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], **spec},
    }


@simulated
async def test_a_workload_of_1_35_defines_groups() -> None:
    async with holding() as (scene, groups):
        scene.api.register(Kind(WORKLOADS.group, "v1alpha1", "workloads", "Workload"))
        spec = {"podGroups": [{"name": "worker", "policy": {"gang": {"minCount": 1}}}]}
        await scene.make(WORKLOADS, "llm", spec=spec)
        for key in ("0", "1"):
            reference = {"name": "llm", "podGroup": "worker", "podGroupReplicaKey": key}
            await scene.client.create(PODS, pod_of(f"p{key}", {"workloadRef": reference}), NS)
            await scene.set_ready(f"p{key}")
        await groups.budget(annotations={}, maxUnavailable="50%")
        await scene.settle(31)
        assert groups.replicas() == (1, 2, 1, 2)
        assert await scene.evict("p0") == 200
        await groups.denial("p1")
        ledger = scene.pdb_stored().metadata.annotations["intact.dev/ledger"]
        assert msgspec.json.decode(ledger)["unavailable"] == {"llm/worker/0": 0}
