"""What was written is known before the stores have seen it."""

import random

import pytest

from intact.kube.client import Client
from intact.model.meta import ObjectMeta
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.memory import EvictedPods, WrittenGroups
from intact.operator.rbg.stores import RbgStores
from intact.sandbox import MemoryApi, wall_clock
from tests.unit.kube.simulated import simulated

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
    groups = WrittenGroups(stores)
    if seen is not None:
        stores.groups.store.put(seen)
    if written is not None:
        groups.remember(written)
    assert groups.newest(KEY) == expected
    assert groups.newest(KEY) == expected, "asking changes nothing"


def test_what_a_deployment_was_lowered_by_is_forgotten() -> None:
    evicted = EvictedPods()
    assert evicted.add("uid", "a")
    assert not evicted.add("uid", "a")
    evicted.add("other", "b")
    evicted.forget("uid")
    assert evicted.by_deployment() == {"other": {"b"}}
    evicted.forget_all()
    assert evicted.by_deployment() == {}
