"""Events on RoleBasedGroups."""

from tests.support.rbg_objects import group, role, rolling, template
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS
from tests.unit.operator.rbg.scene import EVENTS, grouping, replaced, two_roles


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


@simulated
async def test_changes_of_readiness_do_not_use_up_the_events_of_a_rollout() -> None:
    async with grouping() as scene:
        rules = rolling("prefill", "decode", maxUnavailableRatio="50%")
        await scene.make(group("llm", role("prefill", 2), role("decode", 2), coordination=[rules]))
        await scene.play()
        for _ in range(20):
            await scene.play(ready=False)
            await scene.play()
        for image in ("engine:2", "engine:3"):
            await scene.change(
                *(replaced(f"/spec/roles/{at}/template", template(image)) for at in range(2))
            )
            await scene.play()
        assert scene.status.coordinating == "Completed"
        assert await scene.count("RolloutStarted") == 2
        assert await scene.count("RolloutCompleted") == 3, "it was started with engine:1"
        for reason in ("AllRolesReady", "RoleNotReady"):
            assert len(await scene.events(reason)) == 1, "it is one event, with a count"
            assert await scene.count(reason) > 20
