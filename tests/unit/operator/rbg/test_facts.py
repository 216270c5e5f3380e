"""What a reconcile reads of a RoleBasedGroup."""

from intact.model.pod_state import is_terminating
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.facts import RbgFacts, read_facts
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.server_side_apply import Applier
from intact.rollout.orders import Eviction
from tests.support.rbg_objects import batches, group, kind, role
from tests.support.rbg_waiting import DEPLOYMENTS, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.rbg.scene import Scene, grouping, play_all, replaced, two_roles

WANTED = {"prefill": 2, "router": 1}


def read(
    scene: Scene, wanted: dict[str, int] = WANTED, evicted: EvictedPods | None = None
) -> RbgFacts:
    found: RoleBasedGroup = scene.group()
    stores, applier = scene.controller.stores, Applier(scene.client)
    return read_facts(stores, applier, found, wanted, evicted or EvictedPods(), scene.clock())


@simulated
async def test_a_role_has_its_pods_and_its_workload() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        live = scene.get(DEPLOYMENTS, "llm-router")["metadata"]["uid"]
        evicted = EvictedPods()
        evicted.add(live, "x")
        facts = read(scene, evicted=evicted).roles
        assert [len(facts[name].pods) for name in WANTED] == [2, 1]
        [workload] = facts["prefill"].workloads
        assert (workload.name, workload.replicas, workload.observed) == ("llm-prefill", 2, True)
        assert workload.revision == facts["prefill"].revision
        assert facts["router"].workloads[0].evicted == {"x"}
        assert facts["prefill"].workloads[0].evicted == frozenset()


@simulated
async def test_a_workload_of_another_kind_is_made_and_not_used() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        scene.leads = False
        await scene.change(replaced("/spec/roles/0/workload", kind("Deployment")["workload"]))
        facts = read(scene).roles["prefill"]
        assert facts.is_made
        assert facts.workloads == []


@simulated
async def test_a_role_in_batches_has_what_is_started_and_ends_with_all() -> None:
    async with grouping() as scene:
        rules = batches({"prefill": 2, "decode": 1})
        await scene.make(group("llm", role("prefill", 6), role("decode", 3), coordination=[rules]))
        found = read(scene, {"prefill": 6, "decode": 3})
        assert (found.roles["prefill"].desired, found.roles["prefill"].size) == (2, 6)
        assert (found.batches["batched"].started, found.batches["batched"].total) == (1, 3)


@simulated
async def test_batches_that_the_workloads_have_are_started_whatever_the_status_says() -> None:
    async with grouping() as scene:
        rules = batches({"prefill": 2, "decode": 1})
        await scene.make(group("llm", role("prefill", 6), role("decode", 3), coordination=[rules]))
        scene.leads = False
        await scene.patch(STATEFUL_SETS, "llm-prefill", {"spec": {"replicas": 5}})
        await scene.patch(STATEFUL_SETS, "llm-decode", {"spec": {"replicas": 3}})
        assert read(scene, {"prefill": 6, "decode": 3}).batches["batched"].started == 2


@simulated
async def test_an_evicted_pod_goes_before_the_store_has_seen_it() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        pod = read(scene).roles["prefill"].pods[0]
        evicted = EvictedPods()
        evicted.hold(Eviction(pod, "prefill"))
        found = {
            one.metadata.name: one for one in read(scene, evicted=evicted).roles["prefill"].pods
        }
        assert is_terminating(found[pod.metadata.name])
        assert sum(map(is_terminating, found.values())) == 1
