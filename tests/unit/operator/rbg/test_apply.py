"""Which roles are applied, which wait, and which are refused."""

from typing import Any

import pytest

from intact.kube.resources import Resource
from tests.support.objects import Json
from tests.support.rbg_objects import group, kind, role
from tests.support.rbg_waiting import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SERVICES,
    SETS,
    STATEFUL_SETS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import (
    grouping,
    is_owned,
    replaced,
    two_roles,
)


@simulated
async def test_a_role_waits_for_those_that_it_depends_on() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("decode", dependencies=["prefill"]), role("prefill")))
        assert scene.names(STATEFUL_SETS) == ["llm-prefill"]
        assert scene.status.role_statuses[0].message == "waits for prefill to be ready"
        await scene.play(ready=False)
        assert scene.names(STATEFUL_SETS) == ["llm-prefill"]
        await scene.play()
        assert scene.names(STATEFUL_SETS) == ["llm-decode", "llm-prefill"]
        # An order of starting: what has been started is looked after, whatever becomes of others.
        await scene.play(ready=False)
        await scene.change(replaced("/spec/roles/0/replicas", 3))
        assert scene.get(STATEFUL_SETS, "llm-decode")["spec"]["replicas"] == 3


@simulated
async def test_a_role_waits_for_one_without_replicas_until_it_is_looked_after() -> None:
    async with grouping() as scene:
        await scene.make(group("llm", role("decode", dependencies=["prefill"]), role("prefill", 0)))
        assert scene.names(STATEFUL_SETS) == ["llm-prefill"]
        await scene.play()
        assert scene.names(STATEFUL_SETS) == ["llm-decode", "llm-prefill"]


@simulated
async def test_a_role_waits_for_its_kind_and_holds_up_no_other() -> None:
    async with grouping() as scene:
        sets = role("decode", leaderWorkerSet={"size": 2}, **kind("LeaderWorkerSet"))
        await scene.make(group("llm", sets, role("prefill")))
        assert scene.names(STATEFUL_SETS) == ["llm-prefill"]
        assert scene.status.role_statuses[0].message == (
            "waits for the kind LeaderWorkerSet (leaderworkersets.leaderworkerset.x-k8s.io), "
            "which the API server does not serve"
        )
        scene.serve_sets()
        await scene.settle(10)
        assert scene.names(SETS) == ["llm-decode"]
        assert scene.status.role_statuses[0].message == "1 of 1 replicas: not created yet"


TAKEN: list[tuple[Resource[Any], str]] = [
    (STATEFUL_SETS, "llm-prefill"),
    (SERVICES, "s-llm-prefill"),
    (CONFIG_MAPS, "llm"),
]


@pytest.mark.parametrize("taken", TAKEN, ids=lambda one: one[0].kind)
@simulated
async def test_a_name_that_is_taken_is_not_taken_over(taken: tuple[Resource[Any], str]) -> None:
    resource, name = taken
    async with grouping() as scene:
        mine: Json = {"metadata": {"name": name}}
        if resource is not CONFIG_MAPS:
            mine["spec"] = {"selector": {"app": "mine"}}
        await scene.client.create(resource, mine, NS)
        before = scene.get(resource, name)
        await scene.make(two_roles())
        assert scene.get(resource, name) == before
        status, reason, message = scene.condition("Ready")
        assert (status, reason) == ("False", "RoleNotApplied")
        expected = (
            f"{resource.kind} {name} already exists and does not belong to this RoleBasedGroup"
        )
        assert expected in message
        assert scene.names(DEPLOYMENTS) == ["llm-router"], "the other role goes on"
        # As soon as it has gone, the group has it.
        await scene.client.delete(resource, name, NS)
        await scene.settle(10)
        assert is_owned(scene, scene.get(resource, name))
        assert scene.condition("Ready")[1] == "RoleNotReady"


@simulated
async def test_a_role_that_cannot_be_applied_is_told() -> None:
    async with grouping() as scene:
        await scene.client.create(STATEFUL_SETS, {"metadata": {"name": "llm-prefill"}}, NS)
        await scene.make(two_roles())
        message = (
            "StatefulSet llm-prefill already exists and does not belong to this RoleBasedGroup"
        )
        assert scene.status.role_statuses[0].message == message
        assert await scene.events("RoleNotApplied") == [f"role prefill: {message}"]
