"""The revisions of RoleBasedGroups, and their numbers."""

from pathlib import Path

import msgspec

from intact.cli.rbg.revisions import Numbers, revisions_of
from intact.kube.client import Client
from intact.kube.resources import RBGS
from tests.support.rbg_waiting import REVISIONS
from tests.unit.cli.rbg.cluster import ONE, stocked
from tests.unit.operator.pub.scene import Wire


async def test_revisions_are_those_of_the_group_oldest_first(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        await cluster.add_revision("former", "z", 0, {})
        group = await cluster.client.get(RBGS, "llm", "ns")
        found = await revisions_of(cluster.client, group)
    assert [one.revision for one in found] == [1, 2]


async def test_numbers_are_read_again_when_the_revision_changes(tmp_path: Path) -> None:
    async with stocked(tmp_path, ONE) as cluster:
        wire = Wire(cluster.api)
        numbers = Numbers(Client(wire), "ns")
        group = await cluster.client.get(RBGS, "llm", "ns")
        assert await numbers.of(group) == {"llm-a": 1, "llm-b": 2}
        await cluster.client.patch(REVISIONS, {"revision": 3}, "llm-a", "ns")
        assert await numbers.of(group) == {"llm-a": 1, "llm-b": 2}
        assert wire.count("GET", "controllerrevisions") == 1
        status = msgspec.structs.replace(group.status, update_revision="llm-a")
        back = msgspec.structs.replace(group, status=status)
        assert await numbers.of(back) == {"llm-a": 3}
        assert wire.count("GET", "controllerrevisions") == 2
