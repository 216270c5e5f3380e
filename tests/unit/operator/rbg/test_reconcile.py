"""What a RoleBasedGroup owns: made, kept, repaired, in spite of lags and conflicts."""

from typing import Any

import msgspec
import pytest

from intact.kube.resources import Resource
from intact.rollout.names import HELD, REVISION
from intact.sandbox import Rule
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import batches, group, kind, role, rolling, template
from tests.support.rbg_waiting import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GROUP,
    GROUPS,
    SERVICES,
    STATEFUL_SETS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import (
    OWNED,
    Scene,
    grouping,
    is_owned,
    of_groups,
    play_all,
    replaced,
    two_roles,
)


@simulated
async def test_a_group_becomes_workloads_services_and_addresses() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        assert {each.kind: scene.names(each) for each in OWNED} == {
            "StatefulSet": ["llm-prefill"],
            "Deployment": ["llm-router"],
            "Service": ["s-llm-prefill", "s-llm-router"],
            "ConfigMap": ["llm"],
            "RoleBasedGroupScalingAdapter": ["llm-prefill", "llm-router"],
            "ControllerRevision": [scene.status.update_revision],
        }
        for resource in OWNED:
            for name in scene.names(resource):
                assert is_owned(scene, scene.get(resource, name)), (resource.kind, name)
        prefill = scene.get(STATEFUL_SETS, "llm-prefill")["spec"]
        assert (prefill["replicas"], prefill["serviceName"]) == (2, "s-llm-prefill")
        labels = prefill["template"]["metadata"]["labels"].items()
        assert scene.get(SERVICES, "s-llm-prefill")["spec"]["selector"].items() <= labels
        assert prefill["selector"]["matchLabels"].items() <= labels
        config = msgspec.yaml.decode(scene.get(CONFIG_MAPS, "llm")["data"]["config.yaml"])
        assert [one["address"] for one in config["roles"]["prefill"]["instances"]] == [
            "llm-prefill-0.s-llm-prefill",
            "llm-prefill-1.s-llm-prefill",
        ]


# At rest


@simulated
async def test_at_rest_nothing_is_written() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        assert scene.condition("Ready")[0] == "True"
        assert scene.writes() != []
        before = scene.controller.reconciler.writes
        await scene.look_again()
        await scene.client.patch(
            PODS, {"metadata": {"annotations": {"note": "seen"}}}, "llm-prefill-0", NS
        )
        await scene.settle(60)
        assert scene.writes() == []
        assert scene.controller.reconciler.writes == before


@simulated
async def test_another_leader_changes_nothing() -> None:
    """It applies everything once, having no memory of it."""
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        before = scene.versions()
        await scene.restart()
        assert scene.versions() == before
        scene.writes()
        await scene.look_again()
        assert scene.writes() == []


@simulated
async def test_who_does_not_lead_writes_nothing() -> None:
    async with grouping() as scene:
        scene.leads = False
        await scene.make(two_roles())
        assert scene.writes() == []


@simulated
async def test_a_group_on_its_way_out_is_left_to_the_garbage_collector() -> None:
    async with grouping() as scene:
        await scene.make({**two_roles(), "metadata": {"name": "llm", "finalizers": ["x.y/z"]}})
        await scene.client.delete(GROUPS, "llm", NS)
        await scene.client.delete(STATEFUL_SETS, "llm-prefill", NS)
        scene.writes()
        await scene.look_again()
        assert scene.names(STATEFUL_SETS) == []
        assert scene.writes() == []


# Repaired


DRIFTS: list[tuple[Resource[Any], str, Json]] = [
    (STATEFUL_SETS, "llm-prefill", {"spec": {"replicas": 5}}),
    (STATEFUL_SETS, "llm-prefill", {"metadata": {"labels": {GROUP: None}}}),
    (STATEFUL_SETS, "llm-prefill", {"spec": {"template": {"spec": {"containers": []}}}}),
    (DEPLOYMENTS, "llm-router", {"spec": {"replicas": 0}}),
    (SERVICES, "s-llm-prefill", {"spec": {"selector": {"app": "evil"}}}),
    (SERVICES, "s-llm-router", {"metadata": {"labels": {GROUP: "other"}}}),
    (CONFIG_MAPS, "llm", {"data": {"config.yaml": "x"}}),
]


@pytest.mark.parametrize(
    "drift",
    DRIFTS,
    ids=[f"{one.kind} {next(iter(body))} {n}" for n, (one, _, body) in enumerate(DRIFTS)],
)
@simulated
async def test_what_others_change_is_put_right(drift: tuple[Resource[Any], str, Json]) -> None:
    resource, name, body = drift
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        before = scene.get(resource, name)
        await scene.patch(resource, name, body)
        after = scene.get(resource, name)
        for part in ("spec", "data"):
            assert after.get(part) == before.get(part)
        assert after["metadata"]["labels"] == before["metadata"]["labels"]
        assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]


@pytest.mark.parametrize("resource", OWNED[:4], ids=lambda one: one.kind)
@simulated
async def test_what_others_delete_comes_back(resource: Resource[Any]) -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        before = scene.names(resource)
        old = scene.get(resource, before[0])["metadata"]["uid"]
        await scene.client.delete(resource, before[0], NS)
        await scene.settle()
        assert scene.names(resource) == before
        assert scene.get(resource, before[0])["metadata"]["uid"] != old


@simulated
async def test_what_others_add_stays() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        added = {"metadata": {"annotations": {"team": "red"}}, "spec": {"revisionHistoryLimit": 3}}
        await scene.patch(STATEFUL_SETS, "llm-prefill", added)
        await scene.change(replaced("/spec/roles/0/replicas", 3))
        found = scene.get(STATEFUL_SETS, "llm-prefill")
        assert found["spec"]["replicas"] == 3
        assert found["spec"]["revisionHistoryLimit"] == 3
        assert found["metadata"]["annotations"]["team"] == "red"


@pytest.mark.parametrize(
    ("resource", "name", "body"),
    [
        (SERVICES, "s-llm-prefill", {"spec": {"sessionAffinity": "ClientIP"}}),
        (CONFIG_MAPS, "llm", {"data": {"more": "x"}}),
    ],
)
@simulated
async def test_what_others_add_is_not_written_about(
    resource: Resource[Any], name: str, body: Json
) -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await play_all(scene)
        await scene.patch(resource, name, body)
        scene.writes()
        await scene.look_again()
        assert scene.writes() == []
        found = scene.get(resource, name)
        assert all(found[part].items() >= added.items() for part, added in body.items())


@simulated
async def test_a_spec_that_cannot_work_is_told_and_changes_nothing() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        before = scene.get(STATEFUL_SETS, "llm-prefill")
        await scene.change(
            replaced("/spec/roles/0/replicas", 7),
            {"op": "add", "path": "/spec/roles/0/dependencies", "value": ["nobody"]},
        )
        status, reason, message = scene.condition("Ready")
        assert (status, reason) == ("False", "InvalidSpec")
        await scene.look_again()
        assert await scene.count("InvalidSpec") == 1
        assert "spec.roles[0].dependencies[0]" in message
        assert scene.get(STATEFUL_SETS, "llm-prefill") == before


@simulated
async def test_batches_are_started_one_after_another() -> None:
    async with grouping() as scene:
        rules = batches({"prefill": 2, "decode": 1})
        await scene.make(group("llm", role("prefill", 4), role("decode", 2), coordination=[rules]))
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 2
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 1
        [state] = scene.status.coordination_state
        assert state.batches is not None
        assert (state.batches.total, state.batches.started, state.batches.ready) == (2, 1, 0)
        assert state.progress["prefill"].waiting_for == (
            "0 of 2 batches are ready; llm-prefill-0, llm-prefill-1: not created yet"
        )


# In spite of others


@simulated
async def test_a_conflict_is_tried_again_on_what_is_there_then() -> None:
    """The store lags behind an edit: nothing is written on top of it."""
    async with grouping() as scene:
        await scene.make(two_roles())
        scene.writes()
        watching = scene.api.faults
        watching.hold_watches(of_groups)
        await scene.change(replaced("/spec/roles/0/replicas", 4))
        await scene.play(STATEFUL_SETS)
        refused = [one for one in scene.writes() if one.startswith("PUT")]
        assert refused, "it tries to write a status, of a version that is past"
        assert scene.status.ready == "0/3"
        watching.release_watches()
        await scene.settle()
        assert scene.status.ready == "2/5"
        assert scene.status.observed_generation == 2
        assert scene.get(STATEFUL_SETS, "llm-prefill")["spec"]["replicas"] == 4


@simulated
async def test_a_conflict_is_tried_again_also_if_nothing_of_interest_has_changed() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        scene.api.faults.hold_watches(of_groups)
        await scene.patch(GROUPS, "llm", {"metadata": {"annotations": {"note": "seen"}}})
        await scene.play(STATEFUL_SETS)
        assert scene.status.ready == "0/3"
        scene.api.faults.release_watches()
        await scene.settle()
        assert scene.status.ready == "2/3"


@simulated
async def test_a_server_that_is_away_is_waited_for() -> None:
    async with grouping() as scene:
        scene.api.faults.fail_next(lambda request: request.method == "PATCH", times=3)
        await scene.make(two_roles())
        await scene.settle(30)
        assert scene.names(STATEFUL_SETS) == ["llm-prefill"]
        assert scene.names(DEPLOYMENTS) == ["llm-router"]


# Coordinated


def coordinated(*, deployment: bool = False) -> Json:
    rules = rolling("prefill", "decode", maxSkew="100%", maxUnavailableRatio="50%")
    prefill = role("prefill", 4, **(kind("Deployment") if deployment else {}))
    return group("llm", prefill, role("decode", 2), coordination=[rules])


class Policy:
    """Refuses an operation, until it is told not to."""

    def __init__(self, scene: Scene, resource: str, operation: str, code: int = 403) -> None:
        self.refuses = True
        self._code = code
        scene.api.admit("policy", self._review, [Rule((resource,), (operation,))])

    async def _review(self, _request: Json) -> Json:
        status = {"code": self._code, "message": "not now"}
        return {"allowed": not self.refuses, "status": status}


def new_prefill() -> Json:
    return replaced("/spec/roles/0/template", template("engine:2"))


def held(scene: Scene) -> list[str]:
    return [
        one["metadata"]["name"]
        for one in scene.pods()
        if HELD in one["metadata"].get("finalizers", [])
    ]


@simulated
async def test_a_role_waits_for_the_budget_that_refuses_its_eviction() -> None:
    async with grouping() as scene:
        await scene.make(coordinated())
        await scene.play()
        Policy(scene, "pods/eviction", "CREATE", 429)
        await scene.change(new_prefill())
        [state] = scene.status.coordination_state
        assert state.progress["prefill"].waiting_for.startswith("a budget of pod llm-prefill-3: ")
        assert held(scene) == []


@simulated
async def test_a_pod_stays_held_while_its_workload_cannot_be_applied() -> None:
    async with grouping() as scene:
        await scene.make(coordinated())
        await scene.play()
        scene.api.faults.hold_watches(lambda request: request.path.endswith("/pods"))
        await scene.change(new_prefill())
        evicted = held(scene)
        assert evicted == ["llm-prefill-2", "llm-prefill-3"]
        policy = Policy(scene, "statefulsets", "UPDATE")
        scene.api.faults.release_watches()
        await scene.settle(10)
        assert held(scene) == evicted, "the partition still holds them: they would come back old"
        policy.refuses = False
        await scene.settle(10)
        assert held(scene) == []


@simulated
async def test_a_refused_label_is_tried_again() -> None:
    async with grouping() as scene:
        await scene.make(coordinated())
        policy = Policy(scene, "pods", "UPDATE")
        await scene.play()
        policy.refuses = False
        await scene.settle(60)
        assert all(REVISION in one["metadata"]["labels"] for one in scene.pods())


@simulated
async def test_a_deployment_is_lowered_once_for_each_evicted_pod() -> None:
    async with grouping() as scene:
        await scene.make(coordinated(deployment=True))
        await play_all(scene)
        await scene.change(new_prefill())
        assert len(scene.pods()) == 4, "two of prefill are evicted"
        await scene.play(DEPLOYMENTS)
        old = scene.get(DEPLOYMENTS, "llm-prefill")["spec"]
        assert old["replicas"] == 2
        for name in ("llm-prefill-0", "llm-prefill-1"):  # as its ReplicaSet does
            await scene.client.delete(PODS, name, NS)
        await scene.settle()
        assert scene.get(DEPLOYMENTS, "llm-prefill")["spec"]["replicas"] == 2
