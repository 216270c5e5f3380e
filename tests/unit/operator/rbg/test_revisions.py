"""The ControllerRevisions of a RoleBasedGroup."""

from tests.support.rbg_objects import template
from tests.support.rbg_waiting import (
    REVISIONS,
)
from tests.unit.kube.simulated import simulated
from tests.unit.operator.rbg.scene import grouping, replaced, two_roles


@simulated
async def test_one_revision_for_each_set_of_templates() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        first = scene.status.update_revision
        await scene.change(replaced("/spec/roles/0/replicas", 4))
        assert scene.names(REVISIONS) == [first]
        await scene.change(replaced("/spec/roles/0/template", template("engine:2")))
        second = scene.status.update_revision
        assert scene.names(REVISIONS) == sorted([first, second])
        await scene.change(replaced("/spec/roles/0/template", template("engine:1")))
        assert scene.status.update_revision == first
        numbers = {name: scene.get(REVISIONS, name)["revision"] for name in (first, second)}
        assert numbers == {first: 3, second: 2}
