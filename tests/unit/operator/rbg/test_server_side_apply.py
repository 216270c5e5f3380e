"""Server-side apply of what is ours: when it is sent, and when it is not."""

import asyncio
import random
from typing import Any, TypeVar

import msgspec
import pytest

from intact.kube.client import Client, PatchType
from intact.kube.errors import Invalid, Unreachable
from intact.kube.resources import Resource
from intact.model.role_workload import ConfigMap, RoleWorkload, Service
from intact.operator.rbg.resources import CONFIG_MAPS, SERVICES, STATEFUL_SETS
from intact.operator.rbg.server_side_apply import BETWEEN_REPAIRS, Applier, NotOurs, TooSoon
from intact.sandbox import MemoryApi, Moment, Rule, wall_clock
from tests.support.objects import NAMESPACES, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, Wire

T = TypeVar("T", RoleWorkload, Service, ConfigMap)
OWNER = "the-owner"
BODIES: dict[str, Json] = {
    "StatefulSet": {"spec": {"replicas": 2}},
    "Service": {"spec": {"selector": {"app": "a"}, "ports": [{"name": "http", "port": 80}]}},
    "ConfigMap": {"data": {"key": "value"}},
}
ALL = pytest.mark.parametrize(
    "resource", [STATEFUL_SETS, SERVICES, CONFIG_MAPS], ids=lambda one: one.kind
)


class Scene:
    def __init__(self) -> None:
        self.api = MemoryApi(clock=wall_clock())
        self.wire = Wire(self.api)
        self.applier = Applier(Client(self.wire, rng=random.Random(1)))
        self.others = Client(self.api.as_user("alice"), rng=random.Random(2))

    async def open(self) -> "Scene":
        await self.others.create(NAMESPACES, {"metadata": {"name": NS}})
        return self

    def stored(self, resource: Resource[T]) -> T | None:
        """As a store would have it."""
        found = self.api.peek(resource.full_name, NS, "x")
        return None if found is None else msgspec.convert(found, resource.type)

    def version(self, resource: Resource[Any]) -> str:
        found = self.api.peek(resource.full_name, NS, "x")
        assert found is not None
        return str(found["metadata"]["resourceVersion"])

    async def apply(self, resource: Resource[T], **more: Any) -> bool:
        """Whether anything was sent for it."""
        before = self.wire.count("PATCH", "")
        await self.applier.apply(resource, wanted(resource, **more), OWNER, self.stored(resource))
        return self.wire.count("PATCH", "") > before

    async def change(self, resource: Resource[Any], body: Json) -> None:
        """By another client, some time after the last repair."""
        await asyncio.sleep(BETWEEN_REPAIRS)
        await self.others.patch(resource, body, "x", NS)


def wanted(resource: Resource[Any], **more: Any) -> Json:
    meta: Json = {
        "name": "x",
        "namespace": NS,
        "labels": {"ours": "yes"},
        "annotations": {"size": "2"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": OWNER, "controller": True}
        ],
    }
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
    return body | BODIES[resource.kind] | more


@ALL
@simulated
async def test_an_object_is_sent_once(resource: Resource[Any]) -> None:
    scene = await Scene().open()
    assert await scene.apply(resource)
    assert not await scene.apply(resource)
    assert scene.applier.writes == 1


@ALL
@simulated
async def test_an_object_is_not_sent_again_where_the_store_is_behind(
    resource: Resource[Any],
) -> None:
    scene = await Scene().open()
    await scene.apply(resource)
    await scene.applier.apply(resource, wanted(resource), OWNER, None)
    assert scene.wire.count("PATCH", "") == 1


@simulated
async def test_what_is_wanted_now_is_sent() -> None:
    scene = await Scene().open()
    await scene.apply(STATEFUL_SETS)
    assert await scene.apply(STATEFUL_SETS, spec={"replicas": 3})
    found = scene.stored(STATEFUL_SETS)
    assert found is not None
    assert found.spec.replicas == 3


@ALL
@simulated
async def test_another_process_sends_an_object_once_and_changes_nothing(
    resource: Resource[Any],
) -> None:
    scene = await Scene().open()
    await scene.apply(resource)
    before = scene.version(resource)
    scene.applier = Applier(Client(scene.wire, rng=random.Random(3)))
    assert await scene.apply(resource)
    assert not await scene.apply(resource)
    assert scene.version(resource) == before


REPAIRED: list[tuple[Resource[Any], Json]] = [
    (STATEFUL_SETS, {"spec": {"replicas": 5}}),
    (STATEFUL_SETS, {"metadata": {"labels": {"ours": "no"}}}),
    (STATEFUL_SETS, {"metadata": {"annotations": {"size": None}}}),
    (SERVICES, {"spec": {"selector": {"app": "b"}}}),
    (SERVICES, {"spec": {"selector": {"more": "b"}}}),
    (SERVICES, {"spec": {"selector": None}}),
    (SERVICES, {"spec": {"ports": [{"name": "other", "port": 81}]}}),
    (SERVICES, {"spec": {"ports": [{"name": "other", "port": 80}]}}),
    (SERVICES, {"spec": {"ports": []}}),
    (CONFIG_MAPS, {"data": {"key": "other"}}),
    (CONFIG_MAPS, {"data": None}),
    (CONFIG_MAPS, {"metadata": {"labels": None}}),
]


@pytest.mark.parametrize(("resource", "change"), REPAIRED)
@simulated
async def test_what_others_change_is_repaired(resource: Resource[Any], change: Json) -> None:
    scene = await Scene().open()
    await scene.apply(resource)
    await scene.change(resource, change)
    assert await scene.apply(resource)
    assert not await scene.apply(resource)


LEFT: list[tuple[Resource[Any], Json]] = [
    (STATEFUL_SETS, {"metadata": {"labels": {"theirs": "yes"}}}),
    (STATEFUL_SETS, {"metadata": {"annotations": {"theirs": "yes"}}}),
    (STATEFUL_SETS, {"status": {"replicas": 1}}),
    (SERVICES, {"spec": {"sessionAffinity": "ClientIP"}}),
    (
        SERVICES,
        {"spec": {"ports": [{"name": "more", "port": 81}, {"name": "http", "port": 80}]}},
    ),
    (CONFIG_MAPS, {"data": {"theirs": "yes"}}),
]


@pytest.mark.parametrize(("resource", "change"), LEFT)
@simulated
async def test_what_others_add_is_none_of_our_business(
    resource: Resource[Any], change: Json
) -> None:
    scene = await Scene().open()
    await scene.apply(resource)
    await scene.change(resource, change)
    assert not await scene.apply(resource)


@ALL
@simulated
async def test_an_object_of_another_owner_is_left_alone(resource: Resource[Any]) -> None:
    scene = await Scene().open()
    await scene.others.create(resource, {"metadata": {"name": "x"}, **BODIES[resource.kind]}, NS)
    before = scene.version(resource)
    for live in (scene.stored(resource), None):  # also if the store has not seen it
        with pytest.raises(NotOurs, match=f"{resource.kind} x already exists"):
            await scene.applier.apply(resource, wanted(resource), OWNER, live)
    assert scene.version(resource) == before
    assert scene.applier.writes == 0


@simulated
async def test_an_object_that_was_taken_away_from_us_is_left_alone() -> None:
    scene = await Scene().open()
    await scene.apply(STATEFUL_SETS)
    owner = {"op": "replace", "path": "/metadata/ownerReferences/0/uid", "value": "another"}
    await scene.others.patch(STATEFUL_SETS, [owner], "x", NS, type=PatchType.JSON)
    with pytest.raises(NotOurs):
        await scene.apply(STATEFUL_SETS)


@simulated
async def test_a_client_that_keeps_changing_an_object_is_not_answered_endlessly() -> None:
    scene = await Scene().open()
    await scene.apply(STATEFUL_SETS)
    await scene.change(STATEFUL_SETS, {"spec": {"replicas": 5}})
    assert await scene.apply(STATEFUL_SETS)
    await scene.others.patch(STATEFUL_SETS, {"spec": {"replicas": 6}}, "x", NS)
    with pytest.raises(TooSoon, match="keeps changing StatefulSet x"):
        await scene.apply(STATEFUL_SETS)
    await asyncio.sleep(BETWEEN_REPAIRS)
    assert await scene.apply(STATEFUL_SETS)


@simulated
async def test_what_we_want_otherwise_is_never_too_soon() -> None:
    scene = await Scene().open()
    for replicas in range(3, 6):
        assert await scene.apply(STATEFUL_SETS, spec={"replicas": replicas})


@ALL
@simulated
async def test_what_was_deleted_is_made_again_at_once(resource: Resource[Any]) -> None:
    scene = await Scene().open()
    await scene.apply(resource)
    await scene.others.delete(resource, "x", NS)
    scene.applier.gone(resource, NS, "x")
    assert await scene.apply(resource)
    assert scene.stored(resource) is not None


@simulated
async def test_our_own_write_may_be_ahead_of_the_store() -> None:
    scene = await Scene().open()
    await scene.apply(STATEFUL_SETS)
    old = scene.stored(STATEFUL_SETS)
    await scene.apply(STATEFUL_SETS, spec={"replicas": 3})
    newest = scene.applier.newest(STATEFUL_SETS, old, NS, "x")
    assert newest is not None
    assert newest.spec.replicas == 3
    await scene.change(STATEFUL_SETS, {"spec": {"replicas": 4}})
    live = scene.stored(STATEFUL_SETS)
    assert scene.applier.newest(STATEFUL_SETS, live, NS, "x") is live


@simulated
async def test_an_answer_counts_until_the_store_has_seen_it() -> None:
    scene = await Scene().open()
    await scene.apply(STATEFUL_SETS)
    stale = scene.stored(STATEFUL_SETS)
    body = wanted(STATEFUL_SETS, spec={"replicas": 3})
    for _ in range(2):  # the second time there is nothing to send
        live = scene.applier.newest(STATEFUL_SETS, stale, NS, "x")
        await scene.applier.apply(STATEFUL_SETS, body, OWNER, live)
    newest = scene.applier.newest(STATEFUL_SETS, stale, NS, "x")
    assert newest is not None
    assert newest.spec.replicas == 3


def refuse_repeated_names(scene: Scene) -> None:
    """As kube-apiserver does with the ports of a Service."""

    async def review(request: Json) -> Json:
        names = [one["name"] for one in request["object"]["spec"].get("ports") or []]
        if len(names) == len(set(names)):
            return {"allowed": True}
        return {"allowed": False, "status": {"code": 422, "reason": "Invalid"}}

    scene.api.admit("names", review, [Rule(("services",), ("CREATE", "UPDATE"))])


@simulated
async def test_a_port_with_another_number_is_put_right() -> None:
    scene = await Scene().open()
    refuse_repeated_names(scene)
    await scene.apply(SERVICES)
    await scene.change(SERVICES, {"spec": {"ports": [{"name": "http", "port": 81}]}})
    assert await scene.apply(SERVICES)
    found = scene.stored(SERVICES)
    assert found is not None
    assert found.spec["ports"] == [{"name": "http", "port": 80}]
    assert not await scene.apply(SERVICES)


@simulated
async def test_ports_stay_if_what_is_wanted_now_is_not_valid() -> None:
    scene = await Scene().open()
    refuse_repeated_names(scene)
    await scene.apply(SERVICES)
    twice = [{"name": "http", "port": 80}, {"name": "http", "port": 81}]
    with pytest.raises(Invalid):
        await scene.apply(SERVICES, spec={"selector": {"app": "a"}, "ports": twice})
    found = scene.stored(SERVICES)
    assert found is not None
    assert found.spec["ports"] == [{"name": "http", "port": 80}]


@pytest.mark.parametrize("carried_out", [True, False])
@simulated
async def test_what_became_of_a_write_without_an_answer_is_read(carried_out: bool) -> None:
    scene = await Scene().open()
    await scene.apply(STATEFUL_SETS)
    behind = scene.stored(STATEFUL_SETS)
    moment = Moment.AFTER if carried_out else Moment.BEFORE
    scene.api.faults.fail_next(lambda request: request.method == "PATCH", moment)
    body = wanted(STATEFUL_SETS, spec={"replicas": 1})
    with pytest.raises(Unreachable):
        await scene.applier.apply(STATEFUL_SETS, body, OWNER, behind)
    await scene.applier.catch_up("another")
    assert scene.wire.count("GET", "statefulsets/x") == 1, "the one before its first apply"
    await scene.applier.catch_up(OWNER)
    newest = scene.applier.newest(STATEFUL_SETS, behind, NS, "x")
    assert newest is not None
    assert newest.spec.replicas == (1 if carried_out else 2)
    before = scene.wire.count("GET", "")
    await scene.applier.catch_up(OWNER)
    assert scene.wire.count("GET", "") == before, "it is known now"
    answer = await scene.applier.apply(STATEFUL_SETS, body, OWNER, behind)
    assert answer.spec.replicas == 1


@simulated
async def test_a_write_without_an_answer_of_what_is_gone_is_forgotten() -> None:
    scene = await Scene().open()
    scene.api.faults.fail_next(lambda request: request.method == "PATCH")
    with pytest.raises(Unreachable):
        await scene.apply(STATEFUL_SETS)
    await scene.applier.catch_up(OWNER)
    assert scene.applier.newest(STATEFUL_SETS, None, NS, "x") is None
