"""How many units there should be: asked of the owners of pods, of whichever kind."""

import pytest

from intact.budget.pub.kept_pods import GONE_FOR
from intact.budget.pub.recount import Expectation
from intact.kube.transport import Request
from intact.operator.pub.expected import ExpectedUnits, Learned
from intact.sandbox import Moment
from tests.support.objects import NAMESPACES, PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    BUDGETS,
    DAEMON_SET,
    DEPLOYMENT,
    FLEET,
    JOB,
    LWS,
    NS,
    PLAN,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    ROLLOUT,
    SHARD,
    STATEFUL_SET,
    Anything,
    Scene,
    in_background,
    reference,
    running,
)
from tests.unit.operator.pub.test_index import A, lws, lws_group

SHARDS = {"groupLabelKey": "shard", "minReadyReplicas": 2}
GROUPS = {"groupLabelKey": "group", "minReadyReplicas": 3}


@simulated
async def test_the_total_is_summed_over_owners() -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "one", 3, pods=3, labels=A)
        await scene.workload(REPLICATION_CONTROLLER, "two", 2, pods=2, labels=A)
        top = await scene.workload(DEPLOYMENT, "three", 4, labels=A)
        await scene.workload(REPLICA_SET, "three-old", 1, owner=top, pods=1, labels=A)
        await scene.workload(REPLICA_SET, "three-new", 3, owner=top, pods=3, labels=A)
        await scene.workload(SHARD, "four", 5, pods=4, labels=A)
        await scene.pods("alone", labels=A)
        await scene.budget(maxUnavailable="10%")
        await scene.settle()
        # 3 + 2 + 4 + 5 + 1, of which one is missing; a tenth, rounded up, is two.
        assert scene.numbers() == (1, 14, 13, 15)


@pytest.mark.parametrize("below", [DEPLOYMENT, STATEFUL_SET], ids=lambda found: found.kind)
@simulated
async def test_a_workload_above_another_does_not_count_beside_it(below: Anything) -> None:
    """All the same if its template, too, has the labels that a budget selects."""
    async with running() as scene:
        top = await scene.workload(ROLLOUT, "top", 3, labels=A)
        await scene.budget(minAvailable="100%")
        owner = await scene.workload(below, "below", 3, owner=top, labels=A)
        if below is DEPLOYMENT:
            owner = await scene.workload(REPLICA_SET, "rs", 3, owner=owner, labels=A)
        await scene.settle()
        assert scene.numbers() == (0, 0, 3, 3)
        await scene.pods("a", "b", "c", owner=owner, labels=A)
        await scene.settle()
        assert scene.numbers() == (0, 3, 3, 3)


@simulated
async def test_a_workload_without_replicas_wants_one() -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "one", pods=1, labels=A)
        await scene.budget()
        await scene.settle()
        assert scene.numbers() == (1, 1, 0, 1)


@simulated
async def test_a_daemon_set_and_a_job_say_how_many_pods_they_want() -> None:
    async with running() as scene:
        await scene.workload(DAEMON_SET, "agent", pods=3, labels=A)
        status = {"status": {"desiredNumberScheduled": 4, "observedGeneration": 1}}
        await scene.client.patch(DAEMON_SET, status, "agent", NS, subresource="status")
        await scene.workload(JOB, "batch", pods=2, labels=A)
        await scene.client.patch(JOB, {"spec": {"parallelism": 3, "completions": 9}}, "batch", NS)
        await scene.budget(maxUnavailable=3)
        await scene.settle()
        assert scene.numbers() == (1, 5, 4, 7)
        status = {"status": {"desiredNumberScheduled": 3, "observedGeneration": 1}}
        await scene.client.patch(DAEMON_SET, status, "agent", NS, subresource="status")
        await scene.settle()
        assert scene.numbers() == (2, 5, 3, 6)
        # A Job that is over releases its pods.
        assert [await scene.delete(f"batch-{number}") for number in (0, 1)] == [200, 200]
        await scene.pods("batch-2", "batch-3", labels=A, owner=await job(scene))
        await scene.settle()
        assert scene.numbers() == (2, 5, 3, 6)
        assert await scene.delete("batch-2") == 200
        assert await scene.delete("agent-0") == 200
        assert await scene.delete("batch-3") == 429
        over = {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}
        await scene.client.patch(JOB, over, "batch", NS, subresource="status")
        await scene.settle()
        assert await scene.delete("batch-3") == 200
        await scene.settle()
        assert scene.numbers() == (2, 2, 0, 3)


@pytest.mark.parametrize("by_target", [False, True], ids=["selector", "targetRef"])
@simulated
async def test_a_deployment_speaks_for_pods_of_a_replica_set_that_is_gone(
    by_target: bool,
) -> None:
    """As after `kubectl delete replicaset`: the garbage collector deletes its pods."""
    async with running() as scene:
        top = await scene.workload(DEPLOYMENT, "top", 4, labels=A)
        old = await scene.workload(REPLICA_SET, "rs", 4, owner=top, labels=A)
        await scene.pods("a", "b", "c", "d", owner=old, labels=A)
        await scene.budget(target=top if by_target else None)
        await scene.settle()
        await scene.client.delete(REPLICA_SET, "rs", NS)
        new = await scene.workload(REPLICA_SET, "rs", 4, owner=top, labels=A)
        await scene.settle()
        assert scene.numbers() == (1, 4, 3, 4)
        assert [await scene.delete(name) for name in "abc"] == [200, 429, 429]
        await scene.pod("e", owner=new, labels=A)
        await scene.settle()
        assert [await scene.delete(name) for name in "bc"] == [200, 429]
        # Without the Deployment nobody wants them.
        await scene.client.delete(DEPLOYMENT, "top", NS)
        await scene.settle()
        assert [await scene.delete(name) for name in "cde"] == [200, 200, 200]


async def job(scene: Scene) -> Json:
    found: Json = await scene.client.get(JOB, "batch", NS)
    return {"apiVersion": JOB.api_version, "kind": JOB.kind, **found}


@pytest.mark.parametrize("resource", [DAEMON_SET, PLAN, None], ids=["DaemonSet", "Plan", "none"])
@pytest.mark.parametrize(
    ("amounts", "allowed", "desired"),
    [
        ({"maxUnavailable": 1}, 1, 3),
        ({"minAvailable": "50%"}, 2, 2),
        ({"maxUnavailable": "25%"}, 1, 3),
    ],
    ids=str,
)
@simulated
async def test_a_total_that_no_owner_states_does_not_shrink_with_what_was_admitted(
    resource: Anything | None, amounts: Json, allowed: int, desired: int
) -> None:
    """A DaemonSet does not state it before its controller has seen it."""
    async with running(controllers=2) as scene:
        top = await scene.workload(resource, "p", labels=A) if resource else None
        await scene.pods("p-0", "p-1", "p-2", "p-3", owner=top, labels=A)
        await scene.budget(**amounts)
        await scene.settle()
        assert scene.numbers() == (allowed, 4, desired, 4)
        for number in range(allowed):
            assert await scene.delete(f"p-{number}") == 200
        await scene.settle()
        assert scene.numbers() == (0, desired, desired, 4)
        assert await scene.delete("p-3") == 429
        for number in range(allowed):
            await scene.finish(f"p-{number}")
        # They are gone, another leader counts, and nothing of this makes room.
        await scene.settle()
        scene.leader = 1
        async with in_background(scene.controllers[1].lead()):
            await scene.settle()
            assert scene.numbers() == (0, desired, desired, 4)
            assert await scene.delete("p-3") == 429
            # A successor does.
            await scene.pods("new", owner=top, labels=A)
            await scene.settle()
            assert scene.numbers() == (1, desired + 1, desired, 4)
            # Or that they do not come back.
            await scene.settle(GONE_FOR.total_seconds())
            left = 4 - allowed + 1
            assert scene.numbers()[1:] == (left, desired if left == 4 else 2, left)


@pytest.mark.parametrize("resource", [PLAN, None], ids=["Plan", "none"])
@simulated
async def test_a_group_that_only_pods_tell_of_is_expected_back(resource: Anything | None) -> None:
    async with running() as scene:
        top = await scene.workload(resource, "top", labels=A) if resource else None
        for shard in "xyz":
            labels = A | {"shard": shard}
            await scene.pods(f"{shard}-0", f"{shard}-1", owner=top, labels=labels)
        await scene.budget(maxUnavailable=1, podGroupPolicy=SHARDS)
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)
        for name in ("x-0", "x-1"):
            assert await scene.delete(name) == 200
            await scene.finish(name)
        await scene.settle()
        assert scene.numbers() == (0, 2, 2, 3)
        assert await scene.delete("y-0") == 429
        await scene.settle(GONE_FOR.total_seconds())
        assert scene.numbers() == (1, 2, 1, 2)
        assert await scene.delete("y-0") == 200


@simulated
async def test_groups_that_are_being_created_are_held_pod_by_pod() -> None:
    async with running() as scene:
        tops = {
            shard: await scene.workload(STATEFUL_SET, shard, 2, labels=A | {"shard": shard})
            for shard in "xy"
        }
        await scene.budget(podGroupPolicy=SHARDS)
        await scene.settle()
        await scene.pod("x-0", owner=tops["x"], labels=A | {"shard": "x"})
        await scene.settle()
        assert scene.numbers() == (0, 1, 3, 4)
        assert scene.condition("MinReadyReplicasUnreachable") == ""
        assert await scene.delete("x-0") == 429
        await scene.pod("x-1", owner=tops["x"], labels=A | {"shard": "x"})
        await scene.pod("y-0", owner=tops["y"], labels=A | {"shard": "y"})
        await scene.settle()
        # Now that one group has its pods, groups count: y is not available yet.
        assert scene.numbers() == (0, 1, 1, 2)
        assert await scene.delete("x-0") == 429
        assert await scene.delete("y-0") == 200


@simulated
async def test_the_scale_of_a_custom_kind_may_be_in_groups() -> None:
    """A need that no group reaches: pods are held, and three groups are not three pods."""
    async with running() as scene:
        top = await scene.workload(ROLLOUT, "top", 3, labels=A)
        for shard in "xyz":
            labels = A | {"shard": shard}
            await scene.pods(f"{shard}-0", f"{shard}-1", owner=top, labels=labels)
        await scene.budget(podGroupPolicy=SHARDS | {"minReadyReplicas": 8})
        await scene.settle()
        assert scene.numbers() == (1, 6, 5, 6)
        for name, code in (("x-0", 200), ("y-0", 429)):
            assert await scene.delete(name) == code
        await scene.finish("x-0")
        await scene.settle()
        assert scene.numbers() == (0, 5, 5, 6)


@simulated
async def test_an_owner_that_is_gone_is_not_expected_to_have_its_pods_back() -> None:
    async with running() as scene:
        await scene.workload(PLAN, "top", pods=2, labels=A)
        await scene.pods("alone", labels=A)
        await scene.budget()
        await scene.settle()
        await scene.client.delete(PLAN, "top", NS)
        await scene.settle()
        for number in (0, 1):
            assert await scene.delete(f"top-{number}") == 200
            await scene.finish(f"top-{number}")
        await scene.settle()
        assert scene.numbers() == (1, 1, 0, 1)


@simulated
async def test_pods_without_an_owner_count_as_they_are() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", "p2", "p3", labels=A)
        await scene.pod("p4", labels=A, ready=False)
        await scene.budget(maxUnavailable="40%")
        await scene.settle()
        assert scene.numbers() == (1, 4, 3, 5)


@simulated
async def test_a_total_that_is_set_overrides_the_scale() -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "one", 3, pods=3, labels=A)
        total = {"pub.kruise.io/protect-total-replicas": "4"}
        await scene.budget(annotations=total, maxUnavailable="50%")
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 4)


@simulated
async def test_a_scale_that_changes_is_followed() -> None:
    for resource in (STATEFUL_SET, ROLLOUT, SHARD):
        async with running() as scene:
            await scene.workload(resource, "one", 3, pods=3, labels=A)
            await scene.budget()
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            await scene.scale(resource, "one", 5)
            await scene.settle()
            assert scene.numbers() == (0, 3, 4, 5)
            await scene.scale(resource, "one", 2)
            await scene.settle()
            # Of a StatefulSet it is known which pod is not wanted any more.
            known = resource is STATEFUL_SET
            assert scene.numbers() == ((1, 2, 1, 2) if known else (2, 3, 1, 2))


@simulated
async def test_a_scale_is_asked_for_once_for_each_generation() -> None:
    async with running() as scene:
        await scene.workload(SHARD, "one", 3, pods=3, labels=A)
        await scene.budget()
        await scene.settle()
        for ready in (False, True, False, True):
            await scene.set_ready("one-0", ready)
            await scene.settle()
        assert scene.wires[0].count("GET", "/scale") == 1
        await scene.scale(SHARD, "one", 4)
        await scene.settle()
        assert scene.wires[0].count("GET", "/scale") == 2


@simulated
async def test_a_workload_counts_before_it_has_pods() -> None:
    """By selector through the labels of its template, by name anyway."""
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "one", 2, pods=2, labels=A)
        top = await scene.workload(DEPLOYMENT, "two", 3, labels=A)
        await scene.workload(REPLICA_SET, "two-rs", 3, owner=top, labels=A)
        await scene.budget("by-selector")
        await scene.budget("by-name", target=top)
        await scene.settle()
        assert scene.numbers("by-selector") == (0, 2, 4, 5)
        assert scene.numbers("by-name") == (0, 0, 2, 3)


GONE = {
    "scaled to zero": "scale",
    "deleted": "delete",
    "being deleted": "finalize",
}


@pytest.mark.parametrize("how", GONE.values(), ids=GONE)
@pytest.mark.parametrize(
    "resource", [STATEFUL_SET, REPLICA_SET, SHARD, DAEMON_SET, JOB], ids=lambda found: found.kind
)
@pytest.mark.parametrize("by_name", [False, True], ids=["selected", "named"])
@simulated
async def test_a_workload_that_wants_no_pods_releases_them(
    resource: Anything, how: str, by_name: bool
) -> None:
    if how == "scale" and resource in (DAEMON_SET, JOB):
        return
    async with running() as scene:
        top = await scene.workload(resource, "top", 5, pods=5, labels=A)
        await scene.budget(target=top if by_name else None, minAvailable=5)
        await scene.settle()
        assert await scene.delete("top-0") == 429
        if how == "finalize":
            patch = {"metadata": {"finalizers": ["example.com/wait"]}}
            await scene.client.patch(resource, patch, "top", NS)
        if how == "scale":
            await scene.scale(resource, "top", 0)
        else:
            await scene.client.delete(resource, "top", NS)
        await scene.settle()
        names = sorted(scene.names())
        assert [await scene.delete(name) for name in names] == [200] * 5
        for name in names:
            await scene.finish(name)
        await scene.settle()
        assert scene.numbers() == (0, 0, 0, 0)


@simulated
async def test_a_deployment_that_is_deleted_releases_the_pods_of_its_replica_sets() -> None:
    async with running() as scene:
        top = await scene.workload(DEPLOYMENT, "top", 3, labels=A)
        await scene.workload(REPLICA_SET, "rs", 3, owner=top, pods=3, labels=A)
        await scene.budget(maxUnavailable=0)
        await scene.settle()
        await scene.client.delete(DEPLOYMENT, "top", NS)
        await scene.settle()
        assert scene.numbers() == (3, 3, 0, 0)
        assert [await scene.delete(f"rs-{number}") for number in range(3)] == [200] * 3


@pytest.mark.parametrize("by_name", [False, True], ids=["selected", "named"])
@simulated
async def test_a_workload_that_leaves_its_pods_behind_does_not_release_them(by_name: bool) -> None:
    """`--cascade=orphan`: the garbage collector has not cut them off yet."""
    async with running() as scene:
        top = await scene.workload(STATEFUL_SET, "top", 4, pods=4, labels=A)
        await scene.budget(target=top if by_name else None, maxUnavailable=1)
        await scene.settle()
        patch = {"metadata": {"finalizers": ["orphan", "example.com/wait"]}}
        await scene.client.patch(STATEFUL_SET, patch, "top", NS)
        await scene.client.delete(STATEFUL_SET, "top", NS)
        await scene.settle()
        assert scene.numbers() == (1, 4, 3, 4)
        assert [await scene.delete(f"top-{number}") for number in range(4)] == [200, 429, 429, 429]
        # Without this finalizer it waits for something else, and no pod is made again.
        patch = {"metadata": {"finalizers": ["example.com/wait"]}}
        await scene.client.patch(STATEFUL_SET, patch, "top", NS)
        await scene.settle()
        assert await scene.delete("top-1") == 200


@pytest.mark.parametrize("early", [False, True], ids=["after", "before"])
@simulated
async def test_pods_that_their_owner_leaves_behind_are_as_many_as_they_were(early: bool) -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "top", 4, pods=4, labels=A)
        await scene.budget(maxUnavailable=1)
        await scene.settle()
        if early:
            assert await scene.delete("top-0") == 200
            await scene.finish("top-0")
            await scene.settle()
        for number in range(early, 4):
            cut_off = {"metadata": {"ownerReferences": None}}
            await scene.client.patch(PODS, cut_off, f"top-{number}", NS)
        await scene.client.delete(STATEFUL_SET, "top", NS)
        if not early:  # before Intact has counted that nobody owns them
            assert await scene.delete("top-0") == 200
            await scene.finish("top-0")
        await scene.settle()
        assert scene.numbers() == (0, 3, 3, 4)
        assert await scene.delete("top-1") == 429
        await scene.settle(GONE_FOR.total_seconds())
        assert scene.numbers() == (1, 3, 2, 3)


@simulated
async def test_a_surplus_pod_of_a_workload_does_not_succeed_one_without_an_owner() -> None:
    async with running() as scene:
        top = await scene.workload(REPLICA_SET, "top", 2, pods=2, labels=A)
        await scene.pods("alone", labels=A)
        await scene.budget(maxUnavailable=1)
        await scene.settle()
        assert await scene.delete("alone") == 200
        await scene.finish("alone")
        await scene.pods("top-surplus", owner=top, labels=A)
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)


@simulated
async def test_pods_that_another_workload_takes_over_are_not_gone() -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "top", 4, pods=4, labels=A)
        await scene.budget(maxUnavailable=1)
        await scene.settle()
        for number in range(4):
            cut_off = {"metadata": {"ownerReferences": None}}
            await scene.client.patch(PODS, cut_off, f"top-{number}", NS)
        await scene.client.delete(STATEFUL_SET, "top", NS)
        await scene.settle()
        assert scene.numbers() == (1, 4, 3, 4)
        top = await scene.workload(STATEFUL_SET, "top", 4, labels=A)
        for number in range(4):
            adopted = {"metadata": {"ownerReferences": [reference(top)]}}
            await scene.client.patch(PODS, adopted, f"top-{number}", NS)
        await scene.settle()
        assert scene.numbers() == (1, 4, 3, 4)
        assert [await scene.delete(f"top-{number}") for number in range(2)] == [200, 429]


@pytest.mark.parametrize("resource", [STATEFUL_SET, SHARD], ids=lambda found: found.kind)
@simulated
async def test_released_pods_are_no_stock_for_others(resource: Anything) -> None:
    """Pods that are going must not make up for pods that other owners lose."""
    async with running() as scene:
        await scene.workload(resource, "ending", 5, pods=5, labels=A)
        await scene.workload(STATEFUL_SET, "staying", 5, pods=5, labels=A)
        await scene.budget()
        await scene.settle()
        await scene.scale(resource, "ending", 0)
        await scene.settle()
        # All that are ready are shown, and five of them are free to go.
        assert scene.numbers() == (6, 10, 4, 5)
        assert [await scene.delete(f"staying-{number}") for number in range(2)] == [200, 429]
        assert await scene.delete("ending-0") == 200
        await scene.scale(resource, "ending", 5)
        await scene.settle()
        assert scene.numbers() == (0, 8, 9, 10)
        assert await scene.delete("ending-1") == 429


@simulated
async def test_a_namespace_that_ends_releases_its_pods() -> None:
    async with running() as scene:
        await scene.workload(STATEFUL_SET, "one", 3, pods=3, labels=A)
        await scene.budget(maxUnavailable=0)
        await scene.settle()
        assert await scene.delete("one-0") == 429
        await scene.client.delete(NAMESPACES, NS)
        await scene.settle()
        assert [await scene.delete(f"one-{number}") for number in range(3)] == [200] * 3


async def ask(scene: Scene) -> tuple[Expectation, Learned]:
    controller = scene.controller
    expected = ExpectedUnits(scene.client, controller.index, controller.workloads)
    return await expected.of(controller.index.entries[NS, "b"])


class TestLearned:
    """What the owners say is returned; only the recount takes it into the index."""

    @simulated
    async def test_an_owner_that_is_scaled_to_zero_is_idle(self) -> None:
        async with running() as scene:
            top = await scene.workload(SHARD, "top", 3, pods=3, labels=A)
            await scene.budget()
            await scene.settle()
            uid, index = top["metadata"]["uid"], scene.controller.index
            assert (await ask(scene))[1] == Learned(busy=(uid,))
            scene.leader = -1
            await scene.scale(SHARD, "top", 0)
            await scene.settle()
            expectation, learned = await ask(scene)
            assert (expectation.pods, expectation.released) == (0, (uid,))
            assert learned == Learned(idle=(uid,))
            assert not index.is_released(uid)
            assert index.entries[NS, "b"].counts.available == 3
            scene.leader = 0
            scene.controller.recounts.add((NS, "b"))
            await scene.settle()
            assert index.is_released(uid)
            assert index.entries[NS, "b"].counts.available == 0

    @simulated
    async def test_an_owner_that_does_not_exist_is_gone(self) -> None:
        async with running() as scene:
            scene.leader = -1
            owner: Json = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
            owner["metadata"] = {"name": "gone", "uid": "uid-of-gone"}
            await scene.pods("p0", "p1", owner=owner, labels=A)
            await scene.budget()
            await scene.settle()
            expectation, learned = await ask(scene)
            assert (expectation.pods, expectation.released) == (0, ("uid-of-gone",))
            assert learned == Learned(gone=("uid-of-gone",))
            assert not scene.controller.index.is_released("uid-of-gone")
            scene.leader = 0
            scene.controller.recounts.add((NS, "b"))
            await scene.settle()
            assert scene.controller.index.is_released("uid-of-gone")
            assert scene.numbers() == (2, 2, 0, 0)

    @simulated
    async def test_nothing_is_learned_of_pods_without_an_owner_that_has_a_scale(self) -> None:
        async with running() as scene:
            top = await scene.workload(PLAN, "top", pods=2, labels=A)
            await scene.pods("alone", labels=A)
            await scene.budget()
            await scene.settle()
            silent = (top["metadata"]["uid"], "")
            assert await ask(scene) == (Expectation(at_least=3, silent=silent), Learned())


def asks_for_a_scale(request: Request) -> bool:
    return request.path.endswith("/scale")


@simulated
async def test_a_total_that_cannot_be_found_out_allows_nothing_and_says_so() -> None:
    async with running() as scene:
        scene.faults.fail_randomly(1.0, Moment.BEFORE, asks_for_a_scale)
        await scene.workload(SHARD, "one", 3, pods=3, labels=A)
        await scene.budget()
        await scene.settle(60)
        assert scene.status().unavailable_allowed == 0
        assert scene.condition("TotalUnknown") == "True"
        assert scene.condition("Working") == "False"
        assert await scene.delete("one-0") == 429
        scene.faults.heal()
        await scene.set_ready("one-0", False)
        await scene.set_ready("one-0")
        await scene.settle(60)
        assert scene.condition("TotalUnknown") == ""
        assert scene.condition("Working") == "True"
        assert scene.numbers() == (1, 3, 2, 3)


@simulated
async def test_a_total_that_was_not_found_out_is_asked_for_again_without_any_event() -> None:
    async with running() as scene:
        scene.faults.fail_randomly(1.0, Moment.BEFORE, asks_for_a_scale)
        await scene.workload(SHARD, "one", 3, pods=3, labels=A)
        await scene.budget()
        await scene.settle(60)
        assert scene.condition("TotalUnknown") == "True"
        scene.faults.heal()
        await scene.settle(300)
        assert scene.condition("TotalUnknown") == ""


class TestGroups:
    """In group mode the owner's scale counts if its unit is the group; else the groups seen do."""

    @pytest.mark.parametrize("by_name", [False, True], ids=["selected", "named"])
    @simulated
    async def test_a_leader_worker_set_says_how_many_groups(self, by_name: bool) -> None:
        async with running() as scene:
            top = await lws(scene, groups=3)
            await scene.client.patch(LWS, {"spec": {"replicas": 4}}, "top", NS)
            await scene.budget(
                target=top if by_name else None, maxUnavailable=1, podGroupPolicy=GROUPS
            )
            await scene.settle()
            # The fourth has no pod yet, and counts as unavailable.
            assert scene.numbers() == (0, 3, 3, 4)
            await scene.scale(STATEFUL_SET, "top", 4)
            leaders = await scene.client.get(STATEFUL_SET, "top", NS)
            await lws_group(scene, leaders, 3)
            await scene.settle()
            assert scene.numbers() == (1, 4, 3, 4)

    @simulated
    async def test_a_leader_worker_set_counts_its_pods_where_pods_count(self) -> None:
        async with running() as scene:
            await lws(scene, groups=2)
            await scene.budget()
            await scene.settle()
            assert scene.numbers() == (1, 6, 5, 6)

    @simulated
    async def test_a_leader_worker_set_says_nothing_about_pods(self) -> None:
        """Where pods count, and it has them itself, they count as they are."""
        async with running() as scene:
            top = await scene.make(LWS, "top", spec={"replicas": 2})
            await scene.pods(*"abcdef", owner=top, labels=A)
            await scene.budget(minAvailable="100%")
            await scene.settle()
            assert scene.numbers() == (0, 6, 6, 6)
            await scene.client.patch(LWS, {"spec": {"replicas": 0}}, "top", NS)
            await scene.settle()
            assert [await scene.delete(name) for name in "abcdef"] == [200] * 6

    @simulated
    async def test_a_leader_that_is_gone_takes_no_group_off_the_total(self) -> None:
        """Its workers have no owner above it then, until they are gone too."""
        async with running() as scene:
            await lws(scene, groups=3)
            await scene.client.patch(LWS, {"spec": {"replicas": 4}}, "top", NS)
            await scene.budget(maxUnavailable=2, podGroupPolicy=GROUPS)
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 4)
            assert await scene.delete("top-0") == 200
            await scene.finish("top-0")
            await scene.settle()
            assert scene.numbers() == (0, 2, 2, 4)
            assert await scene.delete("top-1-1") == 429

    @simulated
    async def test_a_leader_worker_set_scaled_to_zero_releases_its_groups(self) -> None:
        async with running() as scene:
            await lws(scene, groups=2)
            await scene.budget(minAvailable=2, podGroupPolicy=GROUPS)
            await scene.settle()
            assert await scene.delete("top-0-1") == 429
            await scene.client.patch(LWS, {"spec": {"replicas": 0}}, "top", NS)
            await scene.settle()
            assert scene.numbers() == (2, 2, 0, 0)
            names = sorted(scene.names())
            assert [await scene.delete(name) for name in names] == [200] * 6
            await scene.settle()
            assert scene.numbers() == (0, 0, 0, 0)

    @simulated
    async def test_a_group_whose_pods_are_all_gone_counts_while_its_owner_misses_them(
        self,
    ) -> None:
        async with running() as scene:
            for shard in range(3):
                labels = A | {"shard": f"s{shard}"}
                await scene.workload(STATEFUL_SET, f"s{shard}", 2, pods=2, labels=labels)
            await scene.budget(podGroupPolicy=SHARDS)
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            for number in range(2):
                assert await scene.delete(f"s0-{number}") == 200
                await scene.finish(f"s0-{number}")
            await scene.settle()
            assert scene.numbers() == (0, 2, 2, 3)
            assert await scene.delete("s1-0") == 429
            await scene.client.delete(STATEFUL_SET, "s0", NS)
            await scene.settle()
            assert scene.numbers() == (1, 2, 1, 2)

    @simulated
    async def test_pods_without_the_label_are_units_beside_the_groups(self) -> None:
        async with running() as scene:
            await scene.pods("s0-0", "s0-1", labels=A | {"shard": "s0"})
            await scene.pods("alone", labels=A)
            await scene.budget(podGroupPolicy=SHARDS)
            await scene.settle()
            assert scene.numbers() == (1, 2, 1, 2)
            assert await scene.delete("alone") == 200
            assert await scene.delete("s0-0") == 429


@simulated
async def test_a_budget_of_a_workload_that_comes_later_is_counted_then() -> None:
    async with running() as scene:
        await scene.make(
            BUDGETS,
            "b",
            spec={
                "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "one"},
                "maxUnavailable": 1,
            },
        )
        await scene.settle()
        assert scene.numbers() == (0, 0, 0, 0)
        await scene.workload(STATEFUL_SET, "one", 3, pods=3)
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)
        assert len(list(scene.api.objects(PODS.full_name, NS))) == 3


class TestScaleIn:
    """What the scale of a StatefulSet no longer wants is released, and nothing else."""

    @pytest.mark.parametrize("need", [None, 2], ids=["pods", "groups"])
    @simulated
    async def test_pods_beyond_the_scale_are_free_and_no_stock(self, need: int | None) -> None:
        async with running(controllers=2) as scene:
            top = await scene.workload(STATEFUL_SET, "p", 6, ordinals={"start": 1})
            for number in range(1, 7):
                labels = A | {"shard": f"s{(number - 1) // 2}"}
                await scene.pod(f"p-{number}", owner=top, labels=labels)
            policy: Json = {"podGroupPolicy": SHARDS} if need else {}
            await scene.budget(maxUnavailable=0, **policy)
            await scene.settle()
            units = 3 if need else 6
            assert scene.numbers() == (0, units, units, units)
            await scene.set_ready("p-1", False)  # another group is broken
            await scene.scale(STATEFUL_SET, "p", 4)
            await scene.settle()
            units = 2 if need else 4
            assert scene.numbers() == (0, units - 1, units, units)
            assert [await scene.delete(f"p-{number}") for number in (3, 4)] == [429, 429]
            assert [await scene.delete(f"p-{number}") for number in (6, 5)] == [200, 200]
            await scene.settle()
            assert scene.status().ledger.scaled_in != {}
            for number in (5, 6):
                await scene.finish(f"p-{number}")
            await scene.settle()
            assert scene.status().ledger.scaled_in == {}
            assert scene.numbers() == (0, units - 1, units, units)

    @simulated
    async def test_a_scale_that_goes_back_up_holds_the_pods_again(self) -> None:
        async with running(controllers=2) as scene:
            top = await scene.workload(STATEFUL_SET, "p", 4)
            for number in range(4):
                await scene.pod(f"p-{number}", owner=top, labels=A | {"shard": f"s{number // 2}"})
            await scene.budget(maxUnavailable=0, podGroupPolicy=SHARDS)
            await scene.settle()
            await scene.scale(STATEFUL_SET, "p", 2)
            await scene.settle()
            await scene.scale(STATEFUL_SET, "p", 4)
            await scene.settle()
            assert scene.numbers() == (0, 2, 2, 2)
            assert await scene.delete("p-3") == 429

    @simulated
    async def test_a_gate_that_does_not_know_of_the_scale_in_holds_the_pods(self) -> None:
        async with running(controllers=2) as scene:
            await scene.workload(STATEFUL_SET, "p", 3, pods=3, labels=A)
            await scene.budget(maxUnavailable=0)
            await scene.settle()
            known = scene.controllers[1].workloads
            [before] = known.reflectors["apps", "StatefulSet"].store
            await scene.scale(STATEFUL_SET, "p", 2)
            await scene.settle()
            known.reflectors["apps", "StatefulSet"].store.put(before)
            answers = {await scene.delete("p-2", dry_run=True) for _ in range(4)}
            assert answers == {200, 429}

    @simulated
    async def test_a_group_of_a_leader_worker_set_goes_with_its_leader(self) -> None:
        async with running() as scene:
            await lws(scene, groups=3)
            await scene.budget(maxUnavailable=0, podGroupPolicy=GROUPS)
            await scene.settle()
            await scene.set_ready("top-0", False)
            # Its controller scales the StatefulSet of the leaders.
            await scene.scale(LWS, "top", 2)
            await scene.scale(STATEFUL_SET, "top", 2)
            await scene.settle()
            assert scene.numbers() == (0, 1, 2, 2)
            assert [await scene.delete(name) for name in ("top-1", "top-1-1")] == [429, 429]
            gone = [await scene.delete(name) for name in ("top-2", "top-2-1", "top-2-2")]
            assert gone == [200] * 3


class TestOwnersOfOtherPlaces:
    """Owners without a namespace, and owners that Intact may not read, beside a budget that names
    a workload: for such a budget the whole chain of owners matters."""

    @pytest.mark.parametrize("by_name", [False, True], ids=["selector", "target"])
    @simulated
    async def test_an_owner_without_a_namespace_counts_by_its_scale(self, by_name: bool) -> None:
        async with running() as scene:
            top = await scene.workload(FLEET, "top", 4, pods=4, labels=A)
            await scene.budget(target=top if by_name else None)
            await scene.budget("other", target={**top, "metadata": {"name": "other"}})
            await scene.settle()
            assert scene.numbers() == (1, 4, 3, 4)
            assert [await scene.delete("top-0"), await scene.evict("top-1")] == [200, 429]
            await scene.finish("top-0")
            await scene.scale(FLEET, "top", 2)
            await scene.settle()
            assert scene.numbers() == (2, 3, 1, 2)
            await scene.client.delete(FLEET, "top")
            await scene.settle()
            assert [await scene.delete(f"top-{number}") for number in (1, 2, 3)] == [200] * 3

    @simulated
    async def test_pods_of_an_owner_that_may_not_be_read_are_not_held_for_good(self) -> None:
        async with running() as scene:
            scene.wires[0].forbid("/plans")
            top = await scene.workload(PLAN, "top", pods=3, labels=A)
            await scene.pods("other", owner=top, labels={"app": "other"})
            web = await scene.workload(DEPLOYMENT, "web", 1)
            await scene.budget(maxUnavailable=1)
            await scene.budget("web", target=web)
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            assert [await scene.delete("other"), await scene.evict("top-0")] == [200, 200]
            assert await scene.delete("top-1") == 429

    @simulated
    async def test_a_read_that_is_forbidden_only_now_is_no_answer(self) -> None:
        async with running() as scene:
            plan = await scene.workload(PLAN, "plan")
            await scene.budget("by-name", target=plan)
            await scene.settle()
            scene.wires[0].forbid("/plans")
            scene.faults.hold_watches(lambda request: "plans" in request.path)
            new = await scene.workload(PLAN, "new", owner=plan)
            await scene.pods("new-0", owner=new)
            await scene.settle()
            assert await scene.delete("new-0") == 429


@pytest.mark.parametrize("by_target", [False, True], ids=["selector", "targetRef"])
@simulated
async def test_an_owner_whose_spec_has_another_shape_counts_as_far_as_it_can_be_read(
    by_target: bool,
) -> None:
    async with running() as scene:
        spec = {"replicas": "three", "template": "t"}
        plan = await scene.make(PLAN, "plan", spec=spec)
        await scene.pods("a", "b", "c", owner=plan, labels=A)
        await scene.budget(target=plan if by_target else None)
        await scene.settle()
        assert scene.numbers() == (1, 3, 2, 3)
        assert [await scene.delete(name) for name in "abc"] == [200, 429, 429]
