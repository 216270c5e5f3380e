"""Coordinated rollouts on a real cluster, with the real StatefulSet and Deployment controllers.

What was updated and available at each moment is taken from a watch, event by event.
"""

import asyncio
import json

import pytest

from intact.kube.resources import untyped
from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_intact import ClusterWithIntact, shared_house
from tests.support.namespace_under_test import (
    NamespaceUnderTest,
    eventually,
    groups_down,
    is_available,
    open_space,
)
from tests.support.objects import Json
from tests.support.pdb_groups import Groups
from tests.support.rbg_objects import batches, group, kind, role, rolling
from tests.support.rbg_rollout import check_bounds, course, intact, revision
from tests.support.rbg_waiting import (
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    ROLE,
    STATEFUL_SETS,
    change,
    completed,
    condition_of,
    group_settled,
    group_until,
    names_of,
    role_pods,
)

house = pytest.fixture(scope="module")(shared_house)
space = pytest.fixture(open_space)

BATCH = "batch.coordination.workloads.x-k8s.io/batched"
PDBS = untyped("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PROBE = {"initialDelaySeconds": 1, "exec": {"command": ["true"]}}
UNREADY = {"metadata": {"annotations": {"devcluster.intact.dev/unready": "true"}}}


def template(image: str, **rest: Json) -> Json:
    container = {"name": "engine", "image": image, "readinessProbe": PROBE}
    return {"spec": {"containers": [container]}, **rest}


def pair(prefill: int, decode: int, *, kinds: Json | None = None, **spec: object) -> Json:
    strategy = spec.pop("strategy", {"maxSkew": "10%", "maxUnavailableRatio": "10%"})
    roles = [
        role("prefill", prefill) | {"template": template("engine:1")} | (kinds or {}),
        role("decode", decode) | {"template": template("engine:1")},
    ]
    together = rolling("prefill", "decode") | {"strategy": strategy}
    return group("llm", *roles, coordination=[together], **spec)


def update(image: str, **decode: Json) -> list[Json]:
    """A patch that gives both roles another image."""
    return [
        {"op": "replace", "path": "/spec/roles/0/template", "value": template(image)},
        {"op": "replace", "path": "/spec/roles/1/template", "value": template(image, **decode)},
    ]


async def revisions(space: NamespaceUnderTest) -> dict[str, set[str]]:
    return {
        name: {revision(pod, name) for pod in await role_pods(space, name)}
        for name in ("prefill", "decode")
    }


def states(found: RoleBasedGroup) -> dict[str, str]:
    return {
        name: one.state
        for each in found.status.coordination_state
        for name, one in each.progress.items()
    }


async def updated(space: NamespaceUnderTest, name: str, old: set[str]) -> list[int]:
    """The ordinals of a role that run another revision than these."""
    return sorted(
        int(pod["metadata"]["name"].rpartition("-")[2])
        for pod in await role_pods(space, name)
        if revision(pod, name) not in old
    )


async def test_two_roles_move_in_step(space: NamespaceUnderTest) -> None:
    await space.create(GROUPS, pair(40, 20))
    await group_settled(space)
    old = await revisions(space)
    async with space.watched() as watched:
        await change(space, update("engine:2"))
        found = await group_until(space, "llm", completed, "it to be completed")
    moments = course(watched, {"prefill": 40, "decode": 20}, old)
    check_bounds(moments, skew=10, unavailable=10)
    assert max(at["prefill"].updated - at["prefill"].ready for at in moments) > 1
    assert condition_of(found, "Progressing") == ("False", "Completed")
    await space.events("RoleBasedGroup", "llm", "RolloutStarted")
    await space.events("RoleBasedGroup", "llm", "RolloutCompleted")
    common = "rolebasedgroup.workloads.x-k8s.io/controller-revision-hash"
    pods = [*await role_pods(space, "prefill"), *await role_pods(space, "decode")]
    assert len({pod["metadata"]["labels"][common] for pod in pods}) == 1
    assert not any(pod["metadata"].get("finalizers") for pod in pods)


async def test_a_role_that_fails_holds_the_other_and_undo_brings_both_back(
    space: NamespaceUnderTest,
) -> None:
    await space.create(GROUPS, pair(20, 10, progressDeadlineSeconds=20))
    await group_settled(space)
    old = await revisions(space)
    async with space.watched() as watched:
        await change(space, update("engine:2", **UNREADY))
        found = await group_until(
            space, "llm", lambda one: states(one).get("decode") == "Stalled", "decode to be stalled"
        )
        progress = found.status.coordination_state[0].progress
        assert progress["prefill"].state == "Waiting"
        assert progress["prefill"].waiting_for.startswith("decode: 0 of 10 updated and ready")
        assert (progress["prefill"].updated, progress["decode"].updated) == (2, 1)
        assert condition_of(found, "Stalled") == ("True", "ProgressDeadlineExceeded")
        assert condition_of(found, "Progressing")[0] == "False"
        code, said = await intact(space, "rbg", "undo", "llm")
        assert code == 0, said
        await group_settled(space)
    check_bounds(course(watched, {"prefill": 20, "decode": 10}, old), skew=10, unavailable=10)
    assert await revisions(space) == old
    assert all(is_available(pod) for pod in await role_pods(space, "decode"))


async def test_a_stalled_rollout_goes_back_by_itself_where_asked(space: NamespaceUnderTest) -> None:
    body = pair(10, 10, progressDeadlineSeconds=5, onFailure="Rollback")
    await space.create(GROUPS, body)
    await group_settled(space)
    old = await revisions(space)
    await change(space, update("engine:2", **UNREADY))
    await space.events("RoleBasedGroup", "llm", "RollbackStarted")
    found = await group_settled(space)
    assert await revisions(space) == old
    assert found.spec.roles[0].template["spec"]["containers"][0]["image"] == "engine:1"


async def test_a_partition_keeps_the_lowest_ordinals_old(space: NamespaceUnderTest) -> None:
    rules = {"maxSkew": "10%", "maxUnavailableRatio": "20%", "partition": "80%"}
    await space.create(GROUPS, pair(20, 10, strategy=rules))
    await group_settled(space)
    old = await revisions(space)
    await change(space, update("engine:2"))
    await group_until(
        space, "llm", lambda one: states(one) == dict.fromkeys(old, "Paused"), "both at rest"
    )
    assert await updated(space, "prefill", old["prefill"]) == list(range(16, 20))
    assert await updated(space, "decode", old["decode"]) == [8, 9]
    path = "/spec/coordination/0/strategy/partition"
    await change(space, [{"op": "replace", "path": path, "value": "0%"}])
    await group_settled(space)
    assert await updated(space, "prefill", old["prefill"]) == list(range(20))
    assert await updated(space, "decode", old["decode"]) == list(range(10))


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_a_canary_that_is_undone_leaves_nothing(
    space: NamespaceUnderTest, workload: str
) -> None:
    rules = {"maxSkew": "20%", "maxUnavailableRatio": "20%", "partition": "80%"}
    await space.create(GROUPS, pair(10, 5, strategy=rules, kinds=kind(workload)))
    await group_settled(space)
    old = await revisions(space)
    await change(space, update("engine:2"))
    await group_until(
        space, "llm", lambda one: states(one) == dict.fromkeys(old, "Paused"), "both at rest"
    )
    canary = await revisions(space)
    assert all(len(found) == 2 for found in canary.values()), canary
    code, said = await intact(space, "rbg", "undo", "llm")
    assert code == 0, said
    await group_settled(space)
    await eventually(lambda: revisions(space), lambda found: found == old, f"{old} only")


async def test_scaled_paused_and_changed_again_in_the_middle(space: NamespaceUnderTest) -> None:
    await space.create(GROUPS, pair(20, 10))
    await group_settled(space)
    old = await revisions(space)
    await change(space, update("engine:2"))
    await group_until(space, "llm", lambda one: _updated(one, "prefill") >= 4, "some to be updated")
    await change(space, [{"op": "add", "path": "/spec/paused", "value": True}])
    found = await group_until(
        space,
        "llm",
        lambda one: set(states(one).values()) == {"Paused"} and _in_flight(one) == 0,
        "both to be paused",
    )
    assert _updated(found, "prefill") < 20
    await change(
        space,
        [
            {"op": "replace", "path": "/spec/roles/0/replicas", "value": 26},
            {"op": "replace", "path": "/spec/roles/1/replicas", "value": 8},
            {"op": "replace", "path": "/spec/paused", "value": False},
        ],
    )
    await group_until(space, "llm", lambda one: _updated(one, "prefill") >= 8, "more to be updated")
    await change(space, update("engine:3"))
    found = await group_settled(space)
    assert [one.desired for one in found.status.role_statuses] == [26, 8]
    for name, number in {"prefill": 26, "decode": 8}.items():
        pods = await role_pods(space, name)
        assert len(pods) == number
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"engine:3"}
        assert revision(pods[0], name) not in old[name]


async def test_a_leader_that_dies_in_the_middle_changes_nothing(
    space: NamespaceUnderTest, house: ClusterWithIntact
) -> None:
    await space.create(GROUPS, pair(20, 10))
    await group_settled(space)
    old = await revisions(space)
    async with space.watched() as watched:
        await change(space, update("engine:2"))
        await group_until(space, "llm", lambda one: _updated(one, "prefill") >= 4, "the middle")
        await asyncio.to_thread(house.leader().kill)
        await group_settled(space)
    check_bounds(course(watched, {"prefill": 20, "decode": 10}, old), skew=10, unavailable=10)


async def test_a_deployment_and_a_stateful_set_move_in_step(space: NamespaceUnderTest) -> None:
    await space.create(GROUPS, pair(20, 10, kinds=kind("Deployment")))
    await group_settled(space)
    assert await names_of(space, DEPLOYMENTS) == ["llm-prefill"]
    old = await revisions(space)
    async with space.watched() as watched:
        await change(space, update("engine:2"))
        await group_until(space, "llm", completed, "it to be completed")
    moments = course(watched, {"prefill": 20, "decode": 10}, old)
    check_bounds(moments, skew=10, unavailable=10)
    [left] = await names_of(space, DEPLOYMENTS)
    assert left.startswith("llm-prefill-")
    found = await space.client.get(DEPLOYMENTS, left, space.namespace)
    assert found["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    await eventually(
        lambda: role_pods(space, "prefill"), lambda pods: len(pods) == 20, "20 pods only"
    )


async def test_dependencies_do_not_stand_in_the_way(space: NamespaceUnderTest) -> None:
    """Decode depends on prefill, which loses an old pod for good in the middle."""
    body = pair(10, 10, strategy={"maxSkew": "10%", "maxUnavailableRatio": "20%"})
    body["spec"]["roles"][1]["dependencies"] = ["prefill"]
    await space.create(GROUPS, body)
    await group_settled(space)
    await space.annotate("llm-prefill-0", {"devcluster.intact.dev/unready": "true"})
    await space.until(
        "prefill-0 to be unready", lambda pods: not is_available(pods["llm-prefill-0"])
    )
    await change(space, update("engine:2"))
    await group_settled(space)


def _updated(found: RoleBasedGroup, name: str) -> int:
    return sum(
        one.progress[name].updated for one in found.status.coordination_state if one.progress
    )


def _in_flight(found: RoleBasedGroup) -> int:
    return sum(
        one.updated - one.ready
        for each in found.status.coordination_state
        for one in each.progress.values()
    )


async def test_a_budget_is_waited_for_while_a_drain_spends_it_too(
    space: NamespaceUnderTest,
) -> None:
    """Groups of pods across both roles, of which one may be down: never two are, and both end."""
    body = pair(12, 6, strategy={"maxSkew": "50%", "maxUnavailableRatio": "50%"})
    for one in body["spec"]["roles"]:
        labels = {"app": "llm", "space": space.namespace}
        one["template"]["metadata"] = {"labels": labels}
    await space.create(GROUPS, body)
    await group_settled(space)
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 2}
    await space.budget(spec, current_available=18, unavailable_allowed=2)
    async with space.watched() as watched:
        patch = update("engine:2")
        for one in patch:
            one["value"]["metadata"] = {"labels": {"app": "llm", "space": space.namespace}}
        await change(space, patch)
        await group_until(space, "llm", lambda one: _updated(one, "prefill") >= 2, "the middle")
        async with space.drain("node-0") as drain:
            found = await group_until(space, "llm", _waits_for_budget, "a role to wait for it")
            assert "budget" in str(found.status.coordination_state[0].progress)
            assert await drain.ended() == 0, drain.said
        await group_settled(space)
    unavailable = [
        18 - sum(is_available(pod) for pod in state.values() if _is_of(pod, "llm"))
        for state in watched.states
    ]
    assert max(unavailable) == 2


def _waits_for_budget(found: RoleBasedGroup) -> bool:
    return any(
        "a budget of pod" in one.waiting_for
        for each in found.status.coordination_state
        for one in each.progress.values()
    )


def _is_of(pod: Json, app: str) -> bool:
    return bool(pod["metadata"].get("labels", {}).get("app") == app)


@pytest.mark.parametrize("name", ["StatefulSet", "Deployment"])
async def test_a_native_budget_is_not_gone_past(space: NamespaceUnderTest, name: str) -> None:
    """Nor by the controllers of the workloads, which delete what they are let."""
    strategy = {"maxSkew": "50%", "maxUnavailableRatio": "50%"}
    await space.create(GROUPS, pair(6, 4, kinds=kind(name), strategy=strategy))
    await group_settled(space)
    await space.create(
        PDBS,
        {
            "metadata": {"name": "one"},
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": {GROUP: "llm"}},
            },
        },
    )
    await eventually(
        lambda: space.client.get(PDBS, "one", space.namespace),
        lambda found: found.get("status", {}).get("disruptionsAllowed") == 1,
        "the budget to be counted",
    )
    async with space.watched() as watched:
        await change(space, update("engine:2"))
        await group_settled(space)
    unavailable = [
        10 - sum(is_available(pod) for pod in state.values() if _has_role(pod))
        for state in watched.states
    ]
    assert max(unavailable) == 1


def _has_role(pod: Json) -> bool:
    return ROLE in pod["metadata"].get("labels", {})


async def test_an_eviction_that_fails_is_told_and_tried_again(space: NamespaceUnderTest) -> None:
    """The API server knows no answer for a pod of two budgets."""
    await space.create(GROUPS, pair(4, 4, strategy={"maxUnavailableRatio": "50%"}))
    await group_settled(space)
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {GROUP: "llm"}}}
    for name in ("one", "two"):
        await space.create(PDBS, {"metadata": {"name": name}, "spec": spec})
    await change(space, update("engine:2"))
    found = await group_until(
        space, "llm", lambda one: "more than one" in str(one.status), "it to be told"
    )
    assert (
        found.status.coordination_state[0]
        .progress["decode"]
        .waiting_for.startswith("the eviction of pod llm-decode-3: ")
    )
    assert not any(pod["metadata"].get("finalizers") for pod in await role_pods(space, "decode"))
    await space.client.delete(PDBS, "two", space.namespace)
    await group_settled(space)


async def test_a_group_deleted_in_the_middle_leaves_nothing(space: NamespaceUnderTest) -> None:
    await space.create(GROUPS, pair(10, 10))
    await group_settled(space)
    await change(space, update("engine:2"))
    await group_until(space, "llm", lambda one: _updated(one, "prefill") >= 1, "the middle")
    await space.client.delete(GROUPS, "llm", space.namespace)
    await space.until("all pods to go", lambda pods: not pods)
    assert await names_of(space, STATEFUL_SETS) == []


async def test_the_plan_of_a_group_goes_on_from_what_is_there(space: NamespaceUnderTest) -> None:
    rules = {"maxSkew": "20%", "maxUnavailableRatio": "20%", "partition": "80%"}
    await space.create(GROUPS, pair(10, 10, strategy=rules))
    await group_settled(space)
    await change(space, update("engine:2"))
    await group_until(space, "llm", lambda one: set(states(one).values()) == {"Paused"}, "a pause")
    path = "/spec/coordination/0/strategy/partition"
    patch: list[Json] = [
        {"op": "add", "path": "/spec/paused", "value": True},
        {"op": "remove", "path": path},
    ]
    await change(space, patch)
    code, said = await intact(space, "rbg", "plan", "llm", "-o", "json")
    assert code == 0, said
    [made] = json.loads(said)
    assert made["rounds"] == []  # paused
    await change(space, [{"op": "remove", "path": "/spec/paused"}])
    await group_settled(space)
    code, said = await intact(space, "rbg", "plan", "llm", "-o", "json")
    assert len(json.loads(said)[0]["rounds"]) == 5


async def budget(space: NamespaceUnderTest) -> None:
    """One batch may be down."""
    spec = {
        "selector": {"matchLabels": {"app": "llm"}},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": BATCH, "minReadyReplicas": 3},
    }
    await space.budget(spec, current_available=2, unavailable_allowed=1)


async def native_budget(space: NamespaceUnderTest) -> None:
    """The same."""
    groups = Groups(space)
    annotations = {"intact.dev/group-label-key": BATCH, "intact.dev/min-ready-replicas": "3"}
    await groups.budget(annotations=annotations, maxUnavailable=1)
    await groups.counted(1, 2)


@pytest.mark.parametrize("native", [False, True], ids=["pub", "native"])
async def test_a_budget_in_groups_lets_one_batch_be_down_for_rollout_and_drain_together(
    space: NamespaceUnderTest, native: bool
) -> None:
    """Two batches, each of two prefill and one decode that serve only together, on three nodes."""
    body = pair(4, 2, strategy={"maxSkew": "50%", "maxUnavailableRatio": "50%"})
    body["spec"]["coordination"].append(batches({"prefill": 2, "decode": 1}, "Parallel"))
    labels = {"metadata": {"labels": {"app": "llm", "space": space.namespace}}}
    for one in body["spec"]["roles"]:
        one["template"] |= labels
    await space.create(GROUPS, body)
    await group_settled(space)
    await (native_budget if native else budget)(space)
    [home] = {
        pod["spec"]["nodeName"]
        for pod in await role_pods(space, "decode")
        if pod["metadata"]["labels"][BATCH] == "0"
    }
    async with space.watched() as watched:
        patch = update("engine:2")
        for change_of_role in patch:
            change_of_role["value"] |= labels
        await change(space, patch)
        async with space.drain(home) as drain:
            assert await drain.ended() == 0, drain.said
        await group_settled(space)
    need = {str(batch): 3 for batch in range(2)}
    down = [groups_down(state, BATCH, need) for state in watched.states]
    assert set().union(*down) == set(need)
    assert max(map(len, down)) == 1
