"""The door: it says beforehand what the gate would say, and spends nothing."""

import asyncio
import logging

import pytest

from intact.budget.enforcement import ENFORCEMENT
from intact.kube.errors import ApiError
from intact.kube.resources import PODS as POD_VIEWS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import BY_LABEL, LABELS, Groups, holding
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene
from tests.unit.operator.pub.scene import EVENTS, NS

DOOR = 'admission webhook "door" denied the request: '


async def three_groups(groups: Groups) -> None:
    for name in ("red", "blue", "green"):
        await groups.group(name)
    await groups.budget(maxUnavailable=1)


async def refused(scene: PdbScene, name: str, *, dry_run: bool = False) -> ApiError:
    with pytest.raises(ApiError) as error:
        await scene.client.evict(POD_VIEWS, name, NS, dry_run=dry_run)
    return error.value


@simulated
async def test_a_spent_budget_explains_itself_and_spends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with holding(door=True) as (scene, groups):
        await three_groups(groups)
        for name in ("red-0", "red-1"):
            assert await scene.evict(name) == 200
        await scene.settle()
        assert scene.counters()[0] == 0  # the API server itself would refuse now
        before = scene.pdb_stored()
        for dry_run in (True, False):
            answer = await refused(scene, "blue-0", dry_run=dry_run)
            assert answer.code == 429
            assert [cause.reason for cause in answer.causes] == ["DisruptionBudget"]
            assert DOOR + "Pod blue-0 of group 'blue' cannot go now: 2 of 3" in str(answer)
        assert scene.pdb_stored() == before
        await scene.pdb_controller.events.flush()
        events = [
            (one["involvedObject"]["kind"], one["involvedObject"]["name"], one["type"])
            for one in (await scene.client.list(EVENTS, NS)).items
            if one["reason"] == "DisruptionDenied"
        ]
        assert sorted(events) == [
            ("Pod", "blue-0", "Warning"),
            ("PodDisruptionBudget", "b", "Warning"),
        ]
        lines = [line for line in caplog.messages if "denied EVICT of pod blue-0" in line]
        assert [("(dry run)" in line, "requested by alice" in line) for line in lines] == [
            (True, True),
            (False, True),
        ]
        assert scene.pdb_controller.denied == {(NS, "b"): {"BudgetExhausted": 2}}
        assert [(each["decision"], each["group"]) for each in groups.audited_at_door] == [
            *[("allowed", "red")] * 2,
            *[("denied", "blue")] * 2,
        ]
        assert groups.audited_at_door[-1] | {"decision": "", "group": ""} == {
            "decision": "",
            "budget": f"PodDisruptionBudget/{NS}/b",
            "reason": "BudgetExhausted",
            "group": "",
        }
        fields = [record.fields for record in caplog.records if hasattr(record, "fields")]
        assert [(each["group"], each["users"]) for each in fields] == [("blue", ["alice"])] * 2


@simulated
async def test_a_dry_run_is_answered_truly_also_if_only_the_body_says_so() -> None:
    async with holding(door=True) as (scene, groups):
        await three_groups(groups)
        assert await scene.evict("red-0") == 200
        await scene.settle()
        before = scene.pdb_stored()
        await scene.client.evict(POD_VIEWS, "red-1", NS, dry_run=True)
        assert "cannot go now" in str(await refused(scene, "blue-0", dry_run=True))
        assert scene.pdb_stored() == before


@simulated
async def test_what_is_no_concern_of_a_budget_in_groups_passes() -> None:
    async with holding(door=True) as (scene, groups):
        await three_groups(groups)
        await groups.budget(name="none", selector={"matchLabels": {"app": "no"}}, minAvailable=9)
        await scene.pod("free", labels={"app": "web"})
        await scene.pod("pending", labels={**LABELS, "g": "red"}, phase="Pending", ready=False)
        await scene.settle()
        assert await scene.evict("free") == 200
        assert groups.audited_at_door == [{"decision": "allowed"}]
        assert await scene.evict("pending") == 200
        assert (await refused(scene, "nobody")).code == 404
        await scene.edit(maxUnavailable=0)
        await scene.pdb("second", maxUnavailable=1)
        await scene.settle()
        # The API server complains of two budgets by itself.
        assert (await refused(scene, "red-0")).code == 500


@simulated
async def test_a_pod_without_a_group_and_a_budget_without_a_count_are_explained() -> None:
    async with holding(door=True) as (scene, groups):
        await three_groups(groups)
        await scene.pod("lost", labels=LABELS)
        await scene.settle()
        assert "Pod lost belongs to no group" in str(await refused(scene, "lost", dry_run=True))
        meta = {"metadata": {"annotations": {"intact.dev/ledger": None}}}
        await scene.client.patch(BUDGETS, meta, "b", NS)
        answer = await refused(scene, "red-0", dry_run=True)
        assert "The disruption budget b is still being processed" in str(answer)


@simulated
async def test_a_watch_that_is_behind_denies_nothing() -> None:
    async with holding(door=True) as (scene, groups):
        await three_groups(groups)
        entry = scene.pdb_controller.index.entries[NS, "b"]
        stored = entry.budget
        await scene.edit(maxUnavailable=0)
        await scene.settle()
        closed = entry.budget
        await scene.edit(maxUnavailable=1)
        await scene.settle()
        assert closed.metadata.generation != stored.metadata.generation
        entry.budget = closed
        eviction = asyncio.create_task(scene.evict("red-0"))
        await asyncio.sleep(0.5)
        entry.budget = scene.pdb_stored()  # the watch arrives
        assert await eviction == 200


@simulated
async def test_many_evictions_at_once_never_conflict() -> None:
    async with holding(door=True) as (scene, groups):
        for number in range(8):
            await groups.group(f"g{number}", 3)
        await groups.budget(minAvailable=4)
        names = [f"g{number}-{index}" for index in range(3) for number in range(8)]
        begun = asyncio.get_running_loop().time()
        answers = await asyncio.gather(*(scene.evict(name) for name in names))
        # In groups of three that need two: all surplus, and what is left of four groups.
        assert sorted(set(answers)) == [200, 429]
        assert answers.count(200) == 8 + 4 * 2
        assert asyncio.get_running_loop().time() - begun < 5


@pytest.mark.parametrize("mode", ["Warn", "Audit"])
@simulated
async def test_denials_that_are_not_enforced_are_told_and_the_pod_goes(mode: str) -> None:
    async with holding(door=True) as (scene, groups):
        for name in ("red", "blue", "green"):
            await groups.group(name)
        await groups.budget({**BY_LABEL, ENFORCEMENT: mode}, maxUnavailable=1)
        assert groups.replicas() == (1, 3, 2, 3)
        assert scene.counters()[0] == 6  # the API server itself refuses nothing
        assert await scene.evict("red-0") == 200
        assert scene.warnings == []
        # One group too many: it goes, and the counters of groups say so.
        assert await scene.evict("blue-0", dry_run=True) == 200
        assert await scene.evict("blue-0") == 200
        assert groups.replicas()[:2] == (0, 1)
        for audited in (groups.audited_at_door, groups.audited):
            assert (audited[-1]["decision"], audited[-1]["group"]) == ("would-deny", "blue")
        assert len(scene.warnings) == (2 if mode == "Warn" else 0)
        assert all("Pod blue-0 of group 'blue' cannot go" in text for text in scene.warnings)
        await scene.pdb_controller.events.flush()
        events = [
            (one["involvedObject"]["name"], one["type"], one["count"])
            for one in (await scene.client.list(EVENTS, NS)).items
            if one["reason"] == "DisruptionWouldBeDenied"
        ]
        assert sorted(events) == [("b", "Warning", 1), ("blue-0", "Warning", 1)]
        await scene.settle()
        assert groups.replicas() == (0, 1, 2, 3)
        assert scene.counters()[0] > 0
        await scene.pod("lost", labels=LABELS)
        await scene.settle()
        assert await scene.evict("lost") == 200
        # Enforced again, the budget holds at once: the ledger was right all the time.
        back = {"metadata": {"annotations": {ENFORCEMENT: None}}}
        await scene.client.patch(BUDGETS, back, "b", NS)
        assert (await refused(scene, "green-0")).code == 429
        await scene.settle()
        assert scene.counters()[0] == 2  # of the two groups that are down already
        assert scene.pdb_controller.denied == {(NS, "b"): {"BudgetExhausted": 1}}
