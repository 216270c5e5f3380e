"""What the stores find of a RoleBasedGroup."""

import random

import pytest

from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.meta import ObjectMeta
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.stores import RbgStores
from intact.sandbox import MemoryApi, wall_clock
from tests.support.objects import PODS, Json
from tests.support.rbg_waiting import GROUP, ROLE, STATEFUL_SETS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import grouping, two_roles


@simulated
async def test_pods_are_found_by_role_and_others_are_not_stored() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.play()
        await scene.client.create(PODS, {"metadata": {"name": "stranger"}}, NS)
        await scene.settle()
        stores = scene.controller.stores
        found = stores.pods_of(scene.group(), "prefill")
        assert [one.metadata.name for one in found] == ["llm-prefill-0", "llm-prefill-1"]
        assert stores.pods_of(scene.group(), "router") == []
        assert len(stores.pods_in((NS, "llm"))) == len(stores.pods.store) == 2


@simulated
async def test_a_workload_with_the_labels_and_another_owner_is_not_owned() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        labels = {GROUP: "llm", ROLE: "prefill"}
        copied: Json = {"metadata": {"name": "copy", "labels": labels}, "spec": {"replicas": 0}}
        await scene.client.create(STATEFUL_SETS, copied, NS)
        await scene.settle()
        stores = scene.controller.stores
        owned = stores.owned(stores.workloads["StatefulSet"], scene.group())
        assert [one.metadata.name for one in owned] == ["llm-prefill"]
        assert stores.group((NS, "llm")) == scene.group()


KEY = ("ns", "llm")


def version(number: int, uid: str = "a") -> RoleBasedGroup:
    meta = ObjectMeta(name="llm", namespace="ns", uid=uid, resource_version=str(number))
    return RoleBasedGroup(metadata=meta)


@pytest.mark.parametrize(
    ("seen", "written", "expected"),
    [
        pytest.param(version(9), version(10), version(10), id="the store lags"),
        pytest.param(version(11), version(10), version(11), id="the store is ahead"),
        pytest.param(version(9, "b"), version(10), version(9, "b"), id="another one of this name"),
        pytest.param(None, version(10), None, id="deleted"),
        pytest.param(version(9), None, version(9), id="nothing was written"),
    ],
)
@simulated
async def test_the_newest_role_based_group_is_known(
    seen: RoleBasedGroup | None, written: RoleBasedGroup | None, expected: RoleBasedGroup | None
) -> None:
    api = MemoryApi(clock=wall_clock())
    stores = RbgStores(Client(api.as_user("alice")), random.Random(1))
    if seen is not None:
        stores.groups.store.put(seen)
    if written is not None:
        stores.remember(written)
    assert stores.newest_group(KEY) == expected
    assert stores.newest_group(KEY) == expected, "asking changes nothing"


@simulated
async def test_what_was_written_is_forgotten_when_the_server_has_gone_back() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        await scene.play()
        backup, stores = scene.api.snapshot(), scene.controller.stores
        for number in range(3):
            body = {"metadata": {"annotations": {"n": str(number)}}}
            await scene.client.patch(RBGS, body, "llm", NS)
            stores.remember(scene.group())
        scene.api.restore(backup)
        await scene.settle(6)
        assert stores.newest_group((NS, "llm")) == scene.group() == stores.group((NS, "llm"))
