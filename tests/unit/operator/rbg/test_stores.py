"""What the stores find of a RoleBasedGroup."""

from tests.support.objects import PODS, Json
from tests.support.rbg_waiting import GROUP, ROLE, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import grouping, two_roles


@simulated
async def test_pods_are_found_by_role_and_others_are_not_stored() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.play()
        await scene.client.create(PODS, {"metadata": {"name": "stranger"}}, NS)
        await scene.settle()
        stores = scene.replica.stores
        found = stores.pods_of(scene.group(), "prefill")
        assert [one.metadata.name for one in found] == ["llm-prefill-0", "llm-prefill-1"]
        assert stores.pods_of(scene.group(), "router") == []
        assert len(stores.pods_in((NS, "llm"))) == len(stores.pods.store) == 2


@simulated
async def test_a_workload_with_the_labels_and_another_owner_is_not_owned() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        labels = {GROUP: "llm", ROLE: "prefill"}
        copied: Json = {"metadata": {"name": "copy", "labels": labels}, "spec": {"replicas": 0}}
        await scene.client.create(STATEFUL_SETS, copied, NS)
        await scene.settle()
        stores = scene.replica.stores
        owned = stores.owned(stores.workloads["StatefulSet"], scene.group())
        assert [one.metadata.name for one in owned] == ["llm-prefill"]
        assert stores.group((NS, "llm")) == scene.group()
