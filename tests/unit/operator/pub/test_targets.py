"""What is known of the workload that a budget names: in its conditions, and at its creation."""

import msgspec
import pytest

from intact.kube.resources import untyped
from intact.model.pub import PubSpec, TargetReference
from intact.operator.pub.targets import Targets
from intact.sandbox import Kind, Scale
from intact.sandbox.faults import Moment
from tests.support.objects import PODS
from tests.support.pub_cases import Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    BUDGETS,
    DEPLOYMENT,
    NS,
    REPLICA_SET,
    SETS_GROUP,
    STATEFUL_SET,
    Scene,
    running,
)

A = {"app": "a"}
GADGET = untyped("late.example.com", "v1", "gadgets", "Gadget")
GADGETS = Kind("late.example.com", "v1", "gadgets", "Gadget", scale=Scale())


async def named(scene: Scene, api_version: str, kind: str, name: str = "w") -> None:
    """A budget of this target, counted."""
    target = {"apiVersion": api_version, "kind": kind, "name": name}
    await scene.make(BUDGETS, "b", spec={"targetRef": target, "maxUnavailable": "100%"})
    await scene.settle()


def working(scene: Scene) -> tuple[str, str]:
    [found] = [each for each in scene.status().conditions if each.type == "Working"]
    return found.status, found.reason


@simulated
async def test_a_kind_that_is_not_served_is_told_until_it_is() -> None:
    async with running() as scene:
        await named(scene, "late.example.com/v1", "Gadget")
        assert working(scene) == ("False", "KindNotServed")
        scene.api.register(GADGETS)
        await scene.settle(40)
        assert working(scene) == ("False", "WorkloadNotFound")
        made = await scene.workload(GADGET, "w", 1)
        await scene.settle()
        assert working(scene) == ("Unknown", "NoPods")
        await scene.pod("p", owner=made)
        await scene.settle()
        assert working(scene) == ("True", "Gated")


@simulated
async def test_a_kind_that_cannot_be_read_is_told_with_the_error() -> None:
    async with running() as scene:
        scene.faults.fail_randomly(1.0, Moment.BEFORE, lambda one: "/rollouts" in one.path)
        await named(scene, f"{SETS_GROUP}/v1", "Rollout")
        assert working(scene) == ("False", "KindNotReadable")
        assert "connection lost" in scene.status().conditions[0].message
        scene.faults.heal()
        await scene.settle(60)
        assert working(scene) == ("False", "WorkloadNotFound")


@simulated
async def test_a_server_that_cannot_be_asked_about_a_kind_does_not_stop_the_recount() -> None:
    async with running() as scene:
        scene.faults.fail_randomly(1.0, Moment.BEFORE, lambda one: one.path.endswith("com/v1"))
        await named(scene, f"{SETS_GROUP}/v1", "Rollout")
        assert working(scene) == ("False", "KindNotReadable")
        assert scene.status().observed_generation == 1


@simulated
async def test_a_workload_and_its_pods_come_and_go() -> None:
    async with running() as scene:
        await named(scene, "apps/v1", "StatefulSet")
        assert working(scene) == ("False", "WorkloadNotFound")
        await scene.workload(STATEFUL_SET, "w", 2, pods=2)
        await scene.settle()
        assert working(scene) == ("True", "Gated")
        for name in ("w-0", "w-1"):
            await scene.client.delete(PODS, name, NS, grace_period_seconds=0)
        await scene.settle()
        assert working(scene) == ("Unknown", "NoPods")
        await scene.client.delete(STATEFUL_SET, "w", NS)
        await scene.settle()
        assert working(scene) == ("False", "WorkloadNotFound")


@pytest.mark.parametrize(
    ("api_version", "kind", "warning"),
    [
        ("apps/v1", "StatefulSet", ""),
        ("apps/v1", "DaemonSet", ""),
        ("apps/v1", "StatfulSet", "no StatfulSet in apps/v1 (did you mean StatefulSet?); the bud"),
        ("apps/v9", "StatefulSet", "no StatefulSet in apps/v9; the budget covers the one of apps/"),
        ("sets.example.com/v9", "Rollout", "no Rollout in sets.example.com/v9; the budget holds n"),
        ("nowhere.example.com/v1", "Thing", "serves no Thing in nowhere.example.com/v1; the budg"),
        ("v1", "Pod", ""),
    ],
)
@simulated
async def test_a_kind_that_is_not_served_is_warned_of(
    api_version: str, kind: str, warning: str
) -> None:
    async with running() as scene:
        await scene.settle()
        found = await targets(scene).warnings(
            TargetReference(api_version=api_version, kind=kind, name="w")
        )
    assert len(found) == bool(warning)
    assert all(warning in each for each in found), found


def targets(scene: Scene) -> Targets:
    return Targets(scene.client, scene.controller.workloads)


@pytest.mark.parametrize(
    ("spec", "total"),
    [
        ({"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}, 3),
        ({"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}}, None),
        ({"targetRef": {"apiVersion": "apps/v1", "kind": "Deploymnt", "name": "d"}}, None),
        ({"selector": {"matchLabels": A}}, 5),
        ({"selector": {"matchLabels": {"app": "b"}}}, None),
        ({"selector": {"matchLabels": A}, "podGroupPolicy": {"groupLabelKey": "shard"}}, None),
    ],
)
@simulated
async def test_the_total_that_workloads_state(spec: Json, total: int | None) -> None:
    async with running() as scene:
        made = await scene.workload(DEPLOYMENT, "d", 3, labels=A)
        await scene.workload(REPLICA_SET, "d-1", 3, labels=A, owner=made)
        await scene.workload(STATEFUL_SET, "s", 2, labels=A)
        await scene.settle()
        found = await targets(scene).total(msgspec.convert(spec, PubSpec), NS)
    assert found == total
