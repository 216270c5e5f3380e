"""The kinds of workloads that are followed: from the start, or once they are named."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.model.workload import Workload
from intact.operator.watch.kinds import (
    BUILT_IN,
    FollowedKinds,
    GroupKind,
    find_workloads,
    scales_in_groups,
)
from intact.operator.watch.owners import Workloads
from intact.sandbox import Moment
from tests.support.objects import Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    LWS_GROUP,
    PLAN,
    ROLLOUT,
    SETS_GROUP,
    STATEFUL_SET,
    Scene,
    running,
)
from tests.unit.operator.pub.test_index import A, lws
from tests.unit.operator.watch.scene import api_with_sets, make

ROLLOUTS: GroupKind = (SETS_GROUP, "Rollout")
VERSION = f"{SETS_GROUP}/v1"


def workloads(scene: Scene) -> Workloads:
    return scene.controller.workloads


@asynccontextmanager
async def following(client: Client) -> AsyncGenerator[FollowedKinds, None]:
    kinds = FollowedKinds(client)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(kinds.run())
        yield kinds
        task.cancel()


@simulated
async def test_the_built_in_kinds_are_followed_from_the_start() -> None:
    client = Client(api_with_sets())
    async with following(client) as kinds:
        await make(client, STATEFUL_SET, "db")
        await asyncio.sleep(1)
        assert list(kinds.reflectors) == [(one.group, one.kind) for one in BUILT_IN]
        assert all(kinds.has_scale(kind) for kind in kinds.reflectors)
        assert all(kinds.is_built_in(kind) for kind in kinds.reflectors)
        assert [one.metadata.name for one in kinds.reflectors["apps", "StatefulSet"].store] == [
            "db"
        ]


@simulated
async def test_a_kind_that_is_named_is_followed_soon() -> None:
    client = Client(api_with_sets())
    async with following(client) as kinds:
        seen: list[tuple[GroupKind, str]] = []

        def note(kind: GroupKind, _old: Workload | None, new: Workload | None) -> None:
            assert new is not None
            seen.append((kind, new.metadata.name))

        kinds.subscribe(note)
        await make(client, ROLLOUT, "web")
        kinds.learn(*ROLLOUTS, VERSION)
        assert kinds.is_unknown(ROLLOUTS)
        await asyncio.sleep(1)
        assert not kinds.is_unknown(ROLLOUTS)
        assert kinds.has_scale(ROLLOUTS)
        assert seen == [(ROLLOUTS, "web")]


@simulated
async def test_a_kind_may_be_discovered_at_once() -> None:
    kinds = FollowedKinds(Client(api_with_sets()))
    found = await kinds.discover(*ROLLOUTS, VERSION)
    assert found is not None
    assert (found.full_name, found.namespaced) == (f"rollouts.{SETS_GROUP}", True)
    assert kinds.reflectors[ROLLOUTS].resource == found
    assert await kinds.discover(SETS_GROUP, "Unheard", VERSION) is None


@simulated
async def test_a_failed_discovery_is_repeated() -> None:
    api = api_with_sets()
    kinds = FollowedKinds(Client(api))
    api.faults.fail_randomly(1.0, Moment.BEFORE)
    with pytest.raises(Unreachable):
        await kinds.discover(*ROLLOUTS, VERSION)
    api.faults.heal()
    assert await kinds.discover(*ROLLOUTS, VERSION) is not None


@pytest.mark.parametrize("kind", [("", "Node"), ("", "Pod")])
@simulated
async def test_owners_without_a_scale_are_never_followed(kind: GroupKind) -> None:
    kinds = FollowedKinds(Client(api_with_sets()))
    kinds.learn(*kind, "v1")
    assert not kinds.is_unknown(kind)
    assert kind not in kinds.reflectors


FOUND = {
    "a kind with a scale": (VERSION, "Rollout", True),
    "a kind without a scale": (VERSION, "Plan", False),
    "a built-in kind": ("apps/v1", "DaemonSet", False),
    "a kind of the core group": ("v1", "ReplicationController", True),
    "a kind that is not served": (VERSION, "Unheard", None),
    "a version that is not served": (f"{SETS_GROUP}/v0", "Rollout", None),
}


@pytest.mark.parametrize("name", FOUND)
@simulated
async def test_the_resource_and_scale_of_a_kind(name: str) -> None:
    version, kind, scaled = FOUND[name]
    found = await find_workloads(Client(api_with_sets()), version, kind)
    assert (found[1] if found else None) is scaled
    if found:
        assert (found[0].api_version, found[0].kind) == (version, kind)


def test_only_the_replicas_of_a_leader_worker_set_are_groups() -> None:
    assert scales_in_groups((LWS_GROUP, "LeaderWorkerSet"))
    assert scales_in_groups(("vendor.example.com", "LeaderWorkerSet"))
    assert not scales_in_groups(("apps", "StatefulSet"))


class TestBesideBudgets:
    """Budgets and their pods name the kinds that are followed."""

    @simulated
    async def test_a_kind_is_followed_only_where_there_is_a_budget(self) -> None:
        async with running() as scene:
            await scene.workload(ROLLOUT, "top", 1, pods=1, labels=A)
            await scene.settle()
            assert (SETS_GROUP, "Rollout") not in workloads(scene).reflectors
            await scene.budget()
            await scene.settle()
            assert (SETS_GROUP, "Rollout") in workloads(scene).reflectors
            assert workloads(scene).has_scale((SETS_GROUP, "Rollout"))

    @simulated
    async def test_a_kind_above_other_owners_is_followed_too(self) -> None:
        async with running() as scene:
            await lws(scene)
            await scene.budget()
            await scene.settle()
            assert (LWS_GROUP, "LeaderWorkerSet") in workloads(scene).reflectors

    @simulated
    async def test_a_kind_without_a_scale_is_followed(self) -> None:
        async with running() as scene:
            await scene.workload(PLAN, "top", pods=1, labels=A)
            await scene.budget()
            await scene.settle()
            assert (SETS_GROUP, "Plan") in workloads(scene).reflectors
            assert not workloads(scene).has_scale((SETS_GROUP, "Plan"))

    @simulated
    async def test_a_kind_that_the_server_does_not_serve_is_looked_for_again(self) -> None:
        async with running() as scene:
            owner: Json = {
                "apiVersion": f"{SETS_GROUP}/v1",
                "kind": "Unheard",
                "metadata": {"name": "top", "uid": "some-uid"},
            }
            await scene.pod("p", owner=owner, labels=A)
            await scene.budget()
            await scene.settle(200)
            assert (SETS_GROUP, "Unheard") not in workloads(scene).reflectors
            asked = scene.wires[0].count("GET", f"/apis/{SETS_GROUP}/v1")
            assert 15 <= asked <= 25
            assert scene.numbers() == (1, 1, 0, 1)

    @simulated
    async def test_a_kind_that_a_budget_names_in_a_version_that_is_not_served(self) -> None:
        async with running() as scene:
            odd = {"apiVersion": f"{SETS_GROUP}/v0", "kind": "Rollout", "metadata": {"name": "top"}}
            await scene.budget("odd", target=odd)
            await scene.settle()
            await scene.workload(ROLLOUT, "top", 4, pods=3, labels=A)
            await scene.budget()
            await scene.settle()
            for name in ("odd", "b"):
                assert scene.numbers(name) == (0, 3, 3, 4)

    @simulated
    async def test_a_kind_that_may_not_be_followed_does_not_hold_up_the_rest(self) -> None:
        """All else is counted; and a replica that starts anew can still lead."""
        async with running(controllers=2) as scene:
            scene.faults.fail_randomly(
                1.0,
                Moment.BEFORE,
                lambda request: request.method == "GET" and request.path.endswith("/plans"),
            )
            await scene.workload(PLAN, "top", pods=2, labels=A)
            await scene.workload(STATEFUL_SET, "one", 3, pods=3, labels={"app": "b"})
            await scene.budget("for-a")
            await scene.budget("for-b", select={"app": "b"})
            await scene.settle(10)
            assert scene.numbers("for-b") == (1, 3, 2, 3)
            scene.leader = 1
            leading = asyncio.create_task(scene.controllers[1].lead())
            await scene.settle(10)
            await scene.set_ready("one-0", False)
            await scene.settle(10)
            assert scene.numbers("for-b") == (0, 2, 2, 3)
            leading.cancel()
