"""A RoleBasedGroup whose controller is interrupted, refused, or overtaken by an edit."""

from collections.abc import Callable

import msgspec

from intact.kube.transport import Request
from intact.model.rbg import Coordination
from intact.rollout.coordinations import place_label
from intact.rollout.names import HELD
from intact.rollout.replicas import GROUP_INDEX
from intact.rollout.revisions import HISTORY
from intact.sandbox import Moment, Rule
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import batches, group, kind, role, rolling, template
from tests.support.rbg_waiting import (
    ADAPTERS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    REVISION,
    REVISIONS,
    SERVICES,
    SETS,
    STATEFUL_SETS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import Scene, grouping, of_groups, replaced


def image(value: str, *roles: int) -> list[Json]:
    return [
        {"op": "replace", "path": f"/spec/roles/{at}/template", "value": template(value)}
        for at in roles
    ]


def images(scene: Scene) -> set[str]:
    return {one.template["spec"]["containers"][0]["image"] for one in scene.group().spec.roles}


def coordinated(**spec: object) -> Json:
    rules = rolling("prefill", "decode", maxSkew="50%", maxUnavailableRatio="50%")
    return group("llm", role("prefill", 4), role("decode", 2), coordination=[rules], **spec)


def of_status(request: Request) -> bool:
    return request.path.endswith("/status")


async def stalling(scene: Scene) -> None:
    """A rollout whose new pods never become ready, a moment before its deadline."""
    await scene.make(coordinated(progressDeadlineSeconds=60, onFailure="Rollback"))
    await scene.play()
    assert scene.status.coordinating == "Completed"
    await scene.change(*image("engine:2", 0, 1))
    await scene.play(ready=False)
    assert scene.status.coordinating == "Updating"
    await scene.settle(40)


@simulated
async def test_a_way_back_is_not_taken_from_templates_that_have_just_come() -> None:
    async with grouping() as scene:
        await stalling(scene)
        scene.api.faults.hold_watches(of_groups)
        await scene.change(*image("engine:3", 0, 1))
        await scene.settle(60)
        scene.api.faults.release_watches()
        await scene.settle()
        assert images(scene) == {"engine:3"}


@simulated
async def test_a_stall_with_no_way_back_is_told() -> None:
    async with grouping() as scene:
        await stalling(scene)
        await scene.client.delete(REVISIONS, scene.status.current_revision, NS)
        await scene.settle(60)
        assert scene.condition("Stalled")[0] == "True"


@simulated
async def test_a_stall_goes_back() -> None:
    async with grouping() as scene:
        await stalling(scene)
        await scene.settle(60)
        assert images(scene) == {"engine:1"}


def held(scene: Scene) -> list[str]:
    return [
        one["metadata"]["name"]
        for one in scene.pods()
        if HELD in one["metadata"].get("finalizers", [])
    ]


RATIOS = {"prefill": 2, "decode": 1}
RULES = msgspec.convert(batches(RATIOS), Coordination)


async def first_batch(scene: Scene) -> None:
    """Of two: it is there, and not known to be one yet."""
    rules = batches(RATIOS)
    await scene.make(group("llm", role("prefill", 4), role("decode", 2), coordination=[rules]))
    await scene.play()


async def give_batches(scene: Scene) -> None:
    """As admission does."""
    for one in scene.pods():
        name, _, number = one["metadata"]["name"].rpartition("-")
        label = str(int(number) // RATIOS[name.removeprefix("llm-")])
        body = {"metadata": {"labels": {place_label(RULES): label}}}
        await scene.client.patch(PODS, body, one["metadata"]["name"], NS)


@simulated
async def test_a_batch_that_was_started_stays() -> None:
    """The process ended before it could say so, and the one before it fails."""
    async with grouping() as scene:
        await first_batch(scene)
        scene.wire.delay = lambda request: 600.0 if of_status(request) else 0.0
        await give_batches(scene)
        await scene.settle()
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 4
        await scene.play(ready=False)
        scene.wire.delay = lambda _request: 0.0
        await scene.restart()
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 4
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 2


@simulated
async def test_batches_stay_where_their_rules_have_another_name() -> None:
    async with grouping() as scene:
        await first_batch(scene)
        await give_batches(scene)
        await scene.settle()
        await scene.change({"op": "replace", "path": "/spec/coordination/0/name", "value": "other"})
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 4
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 2


@simulated
async def test_a_pod_is_not_held_for_a_kind_that_is_not_here() -> None:
    async with grouping() as scene:
        await scene.make(coordinated())
        await scene.play()
        # Nothing is seen of what becomes of the pods.
        scene.api.faults.hold_watches(lambda request: request.path.endswith("/pods"))
        await scene.change(*image("engine:2", 0, 1))
        assert held(scene) != []
        sets = kind("LeaderWorkerSet")["workload"]
        await scene.change(
            {"op": "add", "path": "/spec/roles/0/workload", "value": sets},
            {"op": "add", "path": "/spec/roles/1/workload", "value": sets},
        )
        scene.api.faults.release_watches()
        await scene.settle(10)
        assert held(scene) == []


REFUSED = {"code": 403, "reason": "Forbidden", "message": "so says a policy"}


def refuse(
    scene: Scene, resource: str, operation: str, when: Callable[[Json], bool] = lambda _: True
) -> None:
    """As another webhook does."""

    async def review(request: Json) -> Json:
        return {"allowed": False, "status": REFUSED} if when(request) else {"allowed": True}

    scene.api.admit("policy", review, [Rule((resource,), (operation,))])


def lets_go(request: Json) -> bool:
    before, after = (request[one]["metadata"] for one in ("oldObject", "object"))
    return HELD in before.get("finalizers", ()) and HELD not in after.get("finalizers", ())


def labels_differ(request: Json) -> bool:
    old, new = (request[one]["metadata"]["labels"].get(REVISION) for one in ("oldObject", "object"))
    return bool(old != new)


@simulated
async def test_a_label_that_is_refused_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        await scene.make(coordinated())
        refuse(scene, "pods", "UPDATE", labels_differ)
        await scene.play()
        assert scene.status.ready == "6/6"


@simulated
async def test_what_may_not_be_deleted_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        refuse(scene, "services", "DELETE")
        await scene.change({"op": "remove", "path": "/spec/roles/1"})
        await scene.play()
        assert scene.names(ADAPTERS) == ["llm-prefill"]
        assert scene.status.ready == "2/2"


@simulated
async def test_history_that_may_not_be_deleted_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        refuse(scene, REVISIONS.plural, "DELETE")
        for number in range(HISTORY + 2):
            await scene.change(*image(f"engine:1.{number}", 0))
        containers = scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["template"]["spec"][
            "containers"
        ]
        assert containers[0]["image"] == f"engine:1.{HISTORY + 1}"


@simulated
async def test_a_revision_that_is_refused_holds_only_the_rollout_that_needs_it() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxUnavailableRatio="50%")
        roles = [role("router", 1), role("prefill", 2), role("decode", 2)]
        await scene.make(group("llm", *roles, coordination=[rules]))
        await scene.play()
        first = scene.status.current_revision
        refuse(scene, REVISIONS.plural, "CREATE")
        await scene.change(*image("engine:2", 0, 1), replaced("/spec/roles/2/replicas", 3))
        await scene.play()
        await scene.settle(60)
        name = scene.status.update_revision
        status, reason, message = scene.condition("Ready")
        assert (status, reason) == ("False", "RoleNotApplied")
        assert message.startswith(f"ControllerRevision {name} cannot be stored: ")
        assert "so says a policy" in message
        progress = scene.status.coordination_state[0].progress["prefill"]
        assert progress.state == "Paused"
        assert progress.waiting_for.startswith(f"ControllerRevision {name} cannot be stored: ")
        assert progress.updated == 0, "a template that it could not be brought back to"
        router = scene.get(STATEFUL_SETS, "llm-router")["spec"]["template"]["spec"]["containers"]
        assert router[0]["image"] == "engine:2", "a role that updates by itself goes on"
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 3
        assert scene.status.current_revision == first
        assert await scene.count("RoleNotApplied") == 1


@simulated
async def test_a_new_group_starts_without_its_revision() -> None:
    async with grouping() as scene:
        refuse(scene, REVISIONS.plural, "CREATE")
        await scene.make(coordinated())
        await scene.play()
        assert scene.status.ready == "6/6"
        assert scene.condition("Ready")[1] == "RoleNotApplied"
        assert scene.status.current_revision == ""


@simulated
async def test_a_pod_that_cannot_be_let_go_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        await scene.play()
        refuse(scene, "pods", "UPDATE", lets_go)
        await scene.patch(PODS, "llm-prefill-1", {"metadata": {"finalizers": [HELD]}})
        await scene.change(replaced("/spec/roles/1/replicas", 3))
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 3
        assert scene.status.role_statuses[1].desired == 3
        assert len(await scene.events("WriteRefused")) == 1


@simulated
async def test_a_pod_of_a_deleted_group_that_cannot_be_let_go_is_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        await scene.play()
        refusing = [True]
        refuse(scene, "pods", "UPDATE", lambda one: bool(refusing) and lets_go(one))
        await scene.patch(PODS, "llm-prefill-1", {"metadata": {"finalizers": [HELD]}})
        await scene.client.delete(GROUPS, "llm", NS)
        await scene.settle(10)
        assert scene.get(PODS, "llm-prefill-1")["metadata"]["finalizers"] == [HELD]
        refusing.clear()
        await scene.settle(60)
        assert not scene.get(PODS, "llm-prefill-1")["metadata"].get("finalizers")


@simulated
async def test_an_adapter_that_may_not_be_written_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        await scene.play()
        refuse(scene, ADAPTERS.plural, "UPDATE")
        await scene.change(
            replaced("/spec/roles/0/replicas", 3), replaced("/spec/roles/1/replicas", 2)
        )
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 2
        assert scene.status.role_statuses[1].desired == 2
        [message] = await scene.events("WriteRefused")
        assert "so says a policy" in message


@simulated
async def test_an_adapter_that_is_refused_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        refuse(scene, ADAPTERS.plural, "CREATE")
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        assert scene.names(STATEFUL_SETS) == ["llm-decode", "llm-prefill"]


@simulated
async def test_a_number_that_a_policy_refuses_holds_up_nothing_else() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2), role("decode", 1)))
        refuse(
            scene,
            GROUPS.plural,
            "UPDATE",
            lambda one: one["object"]["spec"] != one["oldObject"]["spec"],
        )
        await scene.client.patch(ADAPTERS, {"spec": {"replicas": 5}}, "llm-prefill", NS)
        await scene.play()
        status = scene.adapter().status
        assert status.phase == "NotBound"
        assert "so says a policy" in status.message
        assert scene.status.ready == "3/3"


@simulated
async def test_a_number_outlives_its_adapter() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", None)))
        await scene.client.patch(ADAPTERS, {"spec": {"replicas": 5}}, "llm-prefill", NS)
        await scene.settle()
        await scene.client.delete(ADAPTERS, "llm-prefill", NS)
        await scene.settle()
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 5
        assert scene.adapter().spec.replicas == 5


@simulated
async def test_a_missing_template_holds_up_no_other_role() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxSkew="50%", maxUnavailableRatio="50%")
        await scene.make(
            group(
                "llm",
                role("router", 1),
                role("prefill", 4, **kind("Deployment")),
                role("decode", 2),
                coordination=[rules],
            )
        )
        await scene.play(DEPLOYMENTS)
        await scene.play(STATEFUL_SETS)
        first = scene.status.current_revision
        assert first
        await scene.client.delete(REVISIONS, first, NS)
        await scene.change(*image("engine:2", 1, 2))
        assert await scene.events("TemplateMissing")
        await scene.change({"op": "replace", "path": "/spec/roles/0/replicas", "value": 3})
        assert scene.get(STATEFUL_SETS, "llm-router")["spec"]["replicas"] == 3


def of_services(request: Request) -> bool:
    return request.path.endswith("/services")


@simulated
async def test_what_was_deleted_unseen_comes_back() -> None:
    async with grouping() as scene:
        scene.api.faults.hold_watches(of_services)
        await scene.make(group("llm", role("prefill", 2)))
        await scene.client.delete(SERVICES, "s-llm-prefill", NS)
        scene.api.faults.expire()
        scene.api.faults.break_watches(of_services)
        scene.api.faults.release_watches()
        await scene.settle(60)
        await scene.look_again()
        assert scene.names(SERVICES) == ["s-llm-prefill"]


@simulated
async def test_a_rollout_is_not_let_loose_where_its_workload_is_out_of_sight() -> None:
    """A user removes the label by which the store finds the workload, during a rollout."""
    async with grouping() as scene:
        await scene.make(coordinated())
        await scene.play()
        await scene.change(*image("engine:2", 0, 1))
        await scene.play(ready=False)
        assert partition(scene) == 2
        seen = [partition(scene)]

        def look(_request: Request) -> float:
            seen.append(partition(scene))
            return 0.0

        scene.wire.delay = look
        await scene.patch(STATEFUL_SETS, "llm-prefill", {"metadata": {"labels": {GROUP: None}}})
        await scene.settle()
        assert GROUP in scene.get(STATEFUL_SETS, "llm-prefill")["metadata"]["labels"]
        assert min(seen) == partition(scene) == 2


async def make_leaders(scene: Scene, number: int) -> None:
    """As the controller of LeaderWorkerSets does, of such that have no workers."""
    spec = scene.get(SETS, "llm-decode")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    for index in range(number):
        name = f"llm-decode-{index}"
        labels = {**spec["metadata"]["labels"], GROUP_INDEX: str(index)}
        await scene.client.create(PODS, {"metadata": {"name": name, "labels": labels}}, NS)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await scene.client.patch(PODS, {"status": status}, name, NS, subresource="status")
    await scene.settle()


def partition(scene: Scene) -> int:
    found = scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["updateStrategy"]
    return int(found["rollingUpdate"]["partition"])


def sets_listed(request: Request) -> bool:
    return request.method == "GET" and request.path.endswith(f"/{SETS.plural}")


@simulated
async def test_who_takes_over_knows_all_kinds_before_anything_moves() -> None:
    async with grouping() as scene:
        scene.serve_sets()
        rules = rolling("prefill", "decode", maxSkew="25%", maxUnavailableRatio="100%")
        sets = role("decode", 4, leaderWorkerSet={"size": 1}, **kind("LeaderWorkerSet"))
        await scene.make(group("llm", role("prefill", 4), sets, coordination=[rules]))
        await scene.settle(10)
        await scene.play(STATEFUL_SETS)
        await make_leaders(scene, 4)
        assert scene.status.coordinating == "Completed"
        await scene.change(*image("engine:2", 0, 1))
        await scene.play(STATEFUL_SETS)
        assert partition(scene) == 3
        scene.wire.delay = lambda request: 5.0 if sets_listed(request) else 0.0
        await scene.restart()
        await scene.play(STATEFUL_SETS)
        await scene.settle(20)
        assert partition(scene) == 3


def of_pods(request: Request) -> bool:
    return request.path.endswith("/pods")


@simulated
async def test_another_template_counts_an_evicted_pod_that_the_store_has_not_seen_going() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxUnavailableRatio="25%")
        await scene.make(group("llm", role("prefill", 4), role("decode", 4), coordination=[rules]))
        await scene.play()
        await scene.change(*image("engine:2", 0))
        assert "llm-prefill-3" not in [one["metadata"]["name"] for one in scene.pods()]
        await scene.play_pod("llm-prefill-3", "llm-prefill")
        await scene.settle(0.02)
        scene.api.faults.hold_watches(of_pods)
        await scene.settle()
        [evicted] = [one for one in scene.pods() if "deletionTimestamp" in one["metadata"]]
        assert evicted["metadata"]["name"] == "llm-prefill-2"
        await scene.change(*image("engine:3", 0))
        going = [
            one["metadata"]["name"]
            for one in scene.pods()
            if "deletionTimestamp" in one["metadata"]
        ]
        assert going == ["llm-prefill-2"]


@simulated
async def test_a_write_without_an_answer_is_looked_at_before_anything_else_is_decided() -> None:
    def of_set(request: Request) -> bool:
        return request.path.endswith("/statefulsets/llm-prefill")

    async with grouping() as scene:
        await scene.make(group("llm", role("prefill", 2)))
        sent = len(scene.wire.sent)
        scene.api.faults.fail_next(
            lambda request: request.method == "PATCH" and of_set(request), Moment.AFTER
        )
        await scene.change({"op": "replace", "path": "/spec/roles/0/replicas", "value": 3})
        methods = [one.method for one in scene.wire.sent[sent:] if of_set(one)]
        assert methods[:2] == ["PATCH", "GET"]
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 3
