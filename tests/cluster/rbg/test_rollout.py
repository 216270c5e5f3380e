"""Coordinated rollouts on a real cluster, with the real StatefulSet and Deployment controllers.

A watch tells, event by event, what was updated and available at each moment.
"""

import asyncio
import json
from functools import partial

import pytest

from intact.kube.resources import untyped
from intact.model.rbg import RoleBasedGroup
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import (
    NamespaceUnderTest,
    eventually,
    groups_down,
    is_available,
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


async def revisions(ns: NamespaceUnderTest) -> dict[str, set[str]]:
    return {
        name: {revision(pod, name) for pod in await role_pods(ns, name)}
        for name in ("prefill", "decode")
    }


def states(found: RoleBasedGroup) -> dict[str, str]:
    return {
        name: one.state
        for each in found.status.coordination_state
        for name, one in each.progress.items()
    }


async def updated(ns: NamespaceUnderTest, name: str, old: set[str]) -> list[int]:
    """The ordinals of a role whose pods run none of these revisions."""
    return sorted(
        int(pod["metadata"]["name"].rpartition("-")[2])
        for pod in await role_pods(ns, name)
        if revision(pod, name) not in old
    )


async def test_two_roles_are_rolled_out_in_step(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, pair(40, 20))
    await group_settled(ns)
    old = await revisions(ns)
    async with ns.watched() as watched:
        await change(ns, update("engine:2"))
        found = await group_until(ns, "llm", completed, "it to be completed")
    moments = course(watched, {"prefill": 40, "decode": 20}, old)
    check_bounds(moments, skew=10, unavailable=10)
    assert max(at["prefill"].updated - at["prefill"].ready for at in moments) > 1
    assert condition_of(found, "Progressing") == ("False", "Completed")
    await ns.events("RoleBasedGroup", "llm", "RolloutStarted")
    await ns.events("RoleBasedGroup", "llm", "RolloutCompleted")
    common = "rolebasedgroup.workloads.x-k8s.io/controller-revision-hash"
    pods = [*await role_pods(ns, "prefill"), *await role_pods(ns, "decode")]
    assert len({pod["metadata"]["labels"][common] for pod in pods}) == 1
    assert not any(pod["metadata"].get("finalizers") for pod in pods)


async def test_a_role_that_fails_holds_the_other_and_undo_brings_both_back(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, pair(20, 10, progressDeadlineSeconds=20))
    await group_settled(ns)
    old = await revisions(ns)
    async with ns.watched() as watched:
        await change(ns, update("engine:2", **UNREADY))
        found = await group_until(
            ns, "llm", lambda one: states(one).get("decode") == "Stalled", "decode to be stalled"
        )
        progress = found.status.coordination_state[0].progress
        assert progress["prefill"].state == "Waiting"
        assert progress["prefill"].waiting_for.startswith("decode: 0 of 10 updated and ready")
        assert (progress["prefill"].updated, progress["decode"].updated) == (2, 1)
        assert condition_of(found, "Stalled") == ("True", "ProgressDeadlineExceeded")
        assert condition_of(found, "Progressing")[0] == "False"
        code, said = await intact(ns, "rbg", "undo", "llm")
        assert code == 0, said
        await group_settled(ns)
    check_bounds(course(watched, {"prefill": 20, "decode": 10}, old), skew=10, unavailable=10)
    assert await revisions(ns) == old
    assert all(is_available(pod) for pod in await role_pods(ns, "decode"))


async def test_a_stalled_rollout_is_rolled_back_if_on_failure_says_so(
    ns: NamespaceUnderTest,
) -> None:
    body = pair(10, 10, progressDeadlineSeconds=5, onFailure="Rollback")
    await ns.create(GROUPS, body)
    await group_settled(ns)
    old = await revisions(ns)
    await change(ns, update("engine:2", **UNREADY))
    await ns.events("RoleBasedGroup", "llm", "RollbackStarted")
    found = await group_settled(ns)
    assert await revisions(ns) == old
    assert found.spec.roles[0].template["spec"]["containers"][0]["image"] == "engine:1"


async def test_a_partition_keeps_the_lowest_ordinals_old(ns: NamespaceUnderTest) -> None:
    rules = {"maxSkew": "10%", "maxUnavailableRatio": "20%", "partition": "80%"}
    await ns.create(GROUPS, pair(20, 10, strategy=rules))
    await group_settled(ns)
    old = await revisions(ns)
    await change(ns, update("engine:2"))
    await group_until(
        ns, "llm", lambda one: states(one) == dict.fromkeys(old, "Paused"), "both at rest"
    )
    assert await updated(ns, "prefill", old["prefill"]) == list(range(16, 20))
    assert await updated(ns, "decode", old["decode"]) == [8, 9]
    path = "/spec/coordination/0/strategy/partition"
    await change(ns, [{"op": "replace", "path": path, "value": "0%"}])
    await group_settled(ns)
    assert await updated(ns, "prefill", old["prefill"]) == list(range(20))
    assert await updated(ns, "decode", old["decode"]) == list(range(10))


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_undoing_a_canary_brings_back_the_old_revision_only(
    ns: NamespaceUnderTest, workload: str
) -> None:
    rules = {"maxSkew": "20%", "maxUnavailableRatio": "20%", "partition": "80%"}
    await ns.create(GROUPS, pair(10, 5, strategy=rules, kinds=kind(workload)))
    await group_settled(ns)
    old = await revisions(ns)
    await change(ns, update("engine:2"))
    await group_until(
        ns, "llm", lambda one: states(one) == dict.fromkeys(old, "Paused"), "both at rest"
    )
    canary = await revisions(ns)
    assert all(len(found) == 2 for found in canary.values()), canary
    code, said = await intact(ns, "rbg", "undo", "llm")
    assert code == 0, said
    await group_settled(ns)
    await eventually(lambda: revisions(ns), lambda found: found == old, f"{old} only")


async def test_a_rollout_can_be_paused_scaled_and_replaced_by_another(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, pair(20, 10))
    await group_settled(ns)
    old = await revisions(ns)
    await change(ns, update("engine:2"))
    await group_until(ns, "llm", lambda one: _updated(one, "prefill") >= 4, "some to be updated")
    await change(ns, [{"op": "add", "path": "/spec/paused", "value": True}])
    found = await group_until(
        ns,
        "llm",
        lambda one: set(states(one).values()) == {"Paused"} and _in_flight(one) == 0,
        "both to be paused",
    )
    assert _updated(found, "prefill") < 20
    await change(
        ns,
        [
            {"op": "replace", "path": "/spec/roles/0/replicas", "value": 26},
            {"op": "replace", "path": "/spec/roles/1/replicas", "value": 8},
            {"op": "replace", "path": "/spec/paused", "value": False},
        ],
    )
    await group_until(ns, "llm", lambda one: _updated(one, "prefill") >= 8, "more to be updated")
    await change(ns, update("engine:3"))
    found = await group_settled(ns)
    assert [one.desired for one in found.status.role_statuses] == [26, 8]
    for name, number in {"prefill": 26, "decode": 8}.items():
        pods = await role_pods(ns, name)
        assert len(pods) == number
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"engine:3"}
        assert revision(pods[0], name) not in old[name]


KILLS = 2


@pytest.mark.parametrize("workload", ["StatefulSet", "Deployment"])
async def test_a_rollout_keeps_its_bounds_whenever_the_leader_dies(
    ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact, workload: str
) -> None:
    """Killed in the middle of a rollout, again and again: each leader goes on where the last one
    stopped."""
    sizes = {"prefill": 20, "decode": 10}
    await ns.create(GROUPS, pair(20, 10, kinds=kind(workload)))
    await group_settled(ns)
    kills, number = 0, 1
    while kills < KILLS:
        number += 1
        old = await revisions(ns)
        async with ns.watched() as watched:
            await change(ns, update(f"engine:{number}"))
            for step in (3, 8, 13):
                await group_until(ns, "llm", partial(_has_updated, step), "the middle")
                if kills < KILLS:
                    await asyncio.to_thread(intact_cluster.leader().kill)
                    kills += 1
                    intact_cluster.restore()  # only the main thread may start processes
            await group_until(ns, "llm", completed, "the rollout to be completed")
        check_bounds(course(watched, sizes, old), skew=10, unavailable=10)


async def test_a_deployment_and_a_stateful_set_are_rolled_out_in_step(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, pair(20, 10, kinds=kind("Deployment")))
    await group_settled(ns)
    assert await names_of(ns, DEPLOYMENTS) == ["llm-prefill"]
    old = await revisions(ns)
    async with ns.watched() as watched:
        await change(ns, update("engine:2"))
        await group_until(ns, "llm", completed, "it to be completed")
    moments = course(watched, {"prefill": 20, "decode": 10}, old)
    check_bounds(moments, skew=10, unavailable=10)
    [left] = await names_of(ns, DEPLOYMENTS)
    assert left.startswith("llm-prefill-")
    found = await ns.client.get(DEPLOYMENTS, left, ns.name)
    assert found["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    await eventually(lambda: role_pods(ns, "prefill"), lambda pods: len(pods) == 20, "20 pods only")


async def test_a_rollout_goes_on_while_a_dependency_is_not_ready(ns: NamespaceUnderTest) -> None:
    """Decode depends on prefill, and an old pod of prefill stays unready."""
    body = pair(10, 10, strategy={"maxSkew": "10%", "maxUnavailableRatio": "20%"})
    body["spec"]["roles"][1]["dependencies"] = ["prefill"]
    await ns.create(GROUPS, body)
    await group_settled(ns)
    await ns.annotate("llm-prefill-0", {"devcluster.intact.dev/unready": "true"})
    await ns.until("prefill-0 to be unready", lambda pods: not is_available(pods["llm-prefill-0"]))
    await change(ns, update("engine:2"))
    await group_settled(ns)


def _has_updated(number: int, found: RoleBasedGroup) -> bool:
    """Of prefill, by a status of the present templates."""
    is_seen = found.status.observed_generation == found.metadata.generation
    return is_seen and _updated(found, "prefill") >= number


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


async def test_a_rollout_and_a_drain_share_a_budget(
    ns: NamespaceUnderTest,
) -> None:
    """Both finish, and together they never take more pods than the budget allows."""
    body = pair(12, 6, strategy={"maxSkew": "50%", "maxUnavailableRatio": "50%"})
    for one in body["spec"]["roles"]:
        labels = {"app": "llm", "test": ns.name}
        one["template"]["metadata"] = {"labels": labels}
    await ns.create(GROUPS, body)
    await group_settled(ns)
    spec = {"selector": {"matchLabels": {"app": "llm"}}, "maxUnavailable": 2}
    await ns.budget(spec, current_available=18, unavailable_allowed=2)
    async with ns.watched() as watched:
        patch = update("engine:2")
        for one in patch:
            one["value"]["metadata"] = {"labels": {"app": "llm", "test": ns.name}}
        await change(ns, patch)
        await group_until(ns, "llm", lambda one: _updated(one, "prefill") >= 2, "the middle")
        async with ns.drain("node-0") as drain:
            found = await group_until(ns, "llm", _waits_for_budget, "a role to wait for it")
            assert "budget" in str(found.status.coordination_state[0].progress)
            assert await drain.ended() == 0, drain.said
        await group_settled(ns)
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
async def test_a_rollout_keeps_a_native_budget(ns: NamespaceUnderTest, name: str) -> None:
    """Also the workload controllers, which delete pods themselves, keep it."""
    strategy = {"maxSkew": "50%", "maxUnavailableRatio": "50%"}
    await ns.create(GROUPS, pair(6, 4, kinds=kind(name), strategy=strategy))
    await group_settled(ns)
    await ns.create(
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
        lambda: ns.client.get(PDBS, "one", ns.name),
        lambda found: found.get("status", {}).get("disruptionsAllowed") == 1,
        "the budget to be counted",
    )
    async with ns.watched() as watched:
        await change(ns, update("engine:2"))
        await group_settled(ns)
    unavailable = [
        10 - sum(is_available(pod) for pod in state.values() if _has_role(pod))
        for state in watched.states
    ]
    assert max(unavailable) == 1


def _has_role(pod: Json) -> bool:
    return ROLE in pod["metadata"].get("labels", {})


async def test_a_failed_eviction_of_a_rollout_is_reported_and_retried(
    ns: NamespaceUnderTest,
) -> None:
    """The API server refuses to evict a pod of two native budgets."""
    await ns.create(GROUPS, pair(4, 4, strategy={"maxUnavailableRatio": "50%"}))
    await group_settled(ns)
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {GROUP: "llm"}}}
    for name in ("one", "two"):
        await ns.create(PDBS, {"metadata": {"name": name}, "spec": spec})
    await change(ns, update("engine:2"))
    found = await group_until(
        ns, "llm", lambda one: "more than one" in str(one.status), "it to be told"
    )
    assert (
        found.status.coordination_state[0]
        .progress["decode"]
        .waiting_for.startswith("the eviction of pod llm-decode-3: ")
    )
    assert not any(pod["metadata"].get("finalizers") for pod in await role_pods(ns, "decode"))
    await ns.client.delete(PDBS, "two", ns.name)
    await group_settled(ns)


async def test_a_group_deleted_during_its_rollout_leaves_nothing(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, pair(10, 10))
    await group_settled(ns)
    await change(ns, update("engine:2"))
    await group_until(ns, "llm", lambda one: _updated(one, "prefill") >= 1, "the middle")
    await ns.client.delete(GROUPS, "llm", ns.name)
    await ns.until("all pods to go", lambda pods: not pods)
    assert await names_of(ns, STATEFUL_SETS) == []


async def test_the_plan_command_starts_from_the_present_state_of_the_group(
    ns: NamespaceUnderTest,
) -> None:
    rules = {"maxSkew": "20%", "maxUnavailableRatio": "20%", "partition": "80%"}
    await ns.create(GROUPS, pair(10, 10, strategy=rules))
    await group_settled(ns)
    await change(ns, update("engine:2"))
    await group_until(ns, "llm", lambda one: set(states(one).values()) == {"Paused"}, "a pause")
    path = "/spec/coordination/0/strategy/partition"
    patch: list[Json] = [
        {"op": "add", "path": "/spec/paused", "value": True},
        {"op": "remove", "path": path},
    ]
    await change(ns, patch)
    code, said = await intact(ns, "rbg", "plan", "llm", "-o", "json")
    assert code == 0, said
    [made] = json.loads(said)
    assert made["rounds"] == []  # paused
    await change(ns, [{"op": "remove", "path": "/spec/paused"}])
    await group_settled(ns)
    code, said = await intact(ns, "rbg", "plan", "llm", "-o", "json")
    assert len(json.loads(said)[0]["rounds"]) == 5


async def budget(ns: NamespaceUnderTest) -> None:
    """A PodUnavailableBudget: one batch may be down."""
    spec = {
        "selector": {"matchLabels": {"app": "llm"}},
        "maxUnavailable": 1,
        "podGroupPolicy": {"groupLabelKey": BATCH, "minReadyReplicas": 3},
    }
    await ns.budget(spec, current_available=2, unavailable_allowed=1)


async def native_budget(ns: NamespaceUnderTest) -> None:
    """The same as a native budget."""
    groups = Groups(ns)
    annotations = {"intact.dev/group-label-key": BATCH, "intact.dev/min-ready-replicas": "3"}
    await groups.budget(annotations=annotations, maxUnavailable=1)
    await groups.counted(1, 2)


@pytest.mark.parametrize("native", [False, True], ids=["pub", "native"])
async def test_a_rollout_and_a_drain_take_one_batch_at_a_time_under_a_budget_in_groups(
    ns: NamespaceUnderTest, native: bool
) -> None:
    """Two batches, each of two prefill and one decode that serve only together, on three nodes."""
    body = pair(4, 2, strategy={"maxSkew": "50%", "maxUnavailableRatio": "50%"})
    body["spec"]["coordination"].append(batches({"prefill": 2, "decode": 1}, "Parallel"))
    labels = {"metadata": {"labels": {"app": "llm", "test": ns.name}}}
    for one in body["spec"]["roles"]:
        one["template"] |= labels
    await ns.create(GROUPS, body)
    await group_settled(ns)
    await (native_budget if native else budget)(ns)
    [home] = {
        pod["spec"]["nodeName"]
        for pod in await role_pods(ns, "decode")
        if pod["metadata"]["labels"][BATCH] == "0"
    }
    async with ns.watched() as watched:
        patch = update("engine:2")
        for change_of_role in patch:
            change_of_role["value"] |= labels
        await change(ns, patch)
        async with ns.drain(home) as drain:
            assert await drain.ended() == 0, drain.said
        await group_settled(ns)
    need = {str(batch): 3 for batch in range(2)}
    down = [groups_down(state, BATCH, need) for state in watched.states]
    assert set().union(*down) == set(need)
    assert max(map(len, down)) == 1
