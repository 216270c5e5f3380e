"""Events on RoleBasedGroups."""

from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import EVENTS, grouping, two_roles


@simulated
async def test_an_event_names_its_role_based_group() -> None:
    async with grouping() as scene:
        await scene.make(two_roles())
        events = (await scene.client.list(EVENTS, NS)).items
        [created] = [one for one in events if one["reason"] == "RevisionCreated"]
        about = created.get("involvedObject") or created["regarding"]
        assert (about["kind"], about["name"]) == ("RoleBasedGroup", "llm")
        assert about["uid"] == scene.group().metadata.uid
        assert created["type"] == "Normal"
        revision = scene.status.update_revision
        assert await scene.events("RevisionCreated") == [
            f"the templates are now revision {revision}"
        ]
