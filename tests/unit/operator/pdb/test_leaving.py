"""A budget stops counting groups only from a version that lets nothing go."""

from typing import Any

import msgspec
import pytest

from intact.budget.pdb.annotations import ledger_of
from intact.budget.pdb.group_settings import LEDGER
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.errors import ApiError, Conflict
from intact.operator.webhook.configuration import IN_GROUPS
from intact.sandbox import Moment, Rule
from tests.support.objects import Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import Groups, holding
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene, counting
from tests.unit.operator.pub.scene import NS


class Watching:
    """Admits changes of budgets, and notes from which numbers the label went."""

    def __init__(self, scene: PdbScene) -> None:
        self.scene = scene
        self.asked = 0
        self.audited: dict[str, str] = {}
        scene.api.admit(
            "leaving",
            self._review,
            [Rule(("poddisruptionbudgets",), ("UPDATE",))],
            object_selector=IN_GROUPS,
            fail_open=True,
        )

    async def _review(self, request: Json) -> Json:
        self.asked += 1
        raw = msgspec.Raw(msgspec.json.encode(request))
        answer = await self.scene.pdb_controller.validation.review(raw)
        self.audited = answer.audit_annotations
        found: Json = msgspec.to_builtins(answer)
        return found

    async def forge(self, old: Json) -> None:
        """A review that no API server has sent: the label goes from this budget."""
        meta = old["metadata"]
        new = old | {"metadata": meta | {"labels": {}}}
        request = {"uid": "u", "operation": "UPDATE", "namespace": NS, "name": meta["name"]}
        await self._review(request | {"oldObject": old, "object": new})


async def protected(scene: PdbScene, groups: Groups) -> None:
    for name in ("red", "blue"):
        await groups.group(name)
    await groups.budget(maxUnavailable=1)
    assert scene.counters()[0] == 2


@pytest.mark.parametrize("value", [None, "Pod"])
@simulated
async def test_a_patch_that_ends_the_scope_is_stored_from_zero(value: str | None) -> None:
    async with holding() as (scene, groups):
        watching = Watching(scene)
        await protected(scene, groups)
        change = {"metadata": {"labels": {SCOPE_LABEL: value}}}
        stored = await scene.client.patch(BUDGETS, change, "b", NS)
        assert stored["status"]["disruptionsAllowed"] == 0
        assert stored["metadata"].get("labels", {}).get(SCOPE_LABEL) == value
        assert watching.asked == 2
        await scene.settle()
        assert scene.counters()[0] == 0  # until the controller that counts pods has counted


@simulated
async def test_a_put_is_told_to_read_again() -> None:
    async with holding() as (scene, groups):
        Watching(scene)
        await protected(scene, groups)
        with pytest.raises(Conflict):
            await put_without_label(scene, expecting=2)
        await scene.settle(5)  # no recount puts the number back
        await put_without_label(scene, expecting=0)
        assert scene.pdb_stored().metadata.labels == {}
        assert scene.counters()[0] == 0


async def put_without_label(scene: PdbScene, *, expecting: int) -> None:
    body: Any = await scene.client.get(BUDGETS, "b", NS)
    assert body["status"]["disruptionsAllowed"] == expecting
    del body["metadata"]["labels"]
    await scene.client.update(BUDGETS, body, "b", NS)


@simulated
async def test_a_change_that_is_not_made_opens_the_budget_again() -> None:
    async with holding() as (scene, groups):
        Watching(scene)
        await protected(scene, groups)
        version = scene.pdb_stored().metadata.resource_version
        change = {"metadata": {"labels": {SCOPE_LABEL: None}, "resourceVersion": version}}
        with pytest.raises(Conflict):
            await scene.client.patch(BUDGETS, change, "b", NS)
        assert ledger_of(scene.pdb_stored()).leaving
        assert "it is to stop counting groups" in await closed(groups)
        await scene.settle(31)
        assert scene.counters()[0] == 2
        assert await scene.evict("red-0") == 200


async def closed(groups: Groups) -> str:
    """What the gate says, past the check of the API server."""
    gate = groups.scene.pdb_controller.status_gate
    budget = groups.scene.pdb_stored()
    verdict = await gate._decide(budget, budget, [])
    assert not verdict.allowed
    return verdict.message


@simulated
async def test_a_number_that_cannot_be_stored_keeps_the_label() -> None:
    async with holding() as (scene, groups):
        watching = Watching(scene)
        await protected(scene, groups)
        scene.faults.fail_randomly(
            1.0, Moment.BEFORE, lambda request: request.path.endswith("/b/status")
        )
        change = {"metadata": {"labels": {SCOPE_LABEL: None}}}
        with pytest.raises(ApiError, match="cannot stop counting groups now") as refused:
            await scene.client.patch(BUDGETS, change, "b", NS)
        assert refused.value.code == 429
        assert watching.audited == {
            "decision": "denied",
            "budget": f"PodDisruptionBudget/{NS}/b",
            "reason": "BudgetNotWritable",
        }


@simulated
async def test_a_dry_run_writes_nothing() -> None:
    async with holding() as (scene, groups):
        Watching(scene)
        await protected(scene, groups)
        change = {"metadata": {"labels": {SCOPE_LABEL: None}}}
        version = scene.pdb_stored().metadata.resource_version
        await scene.client.patch(BUDGETS, change, "b", NS, dry_run=True)
        assert scene.pdb_stored().metadata.resource_version == version


@simulated
async def test_where_intact_counts_pods_too_it_counts_on_from_zero() -> None:
    async with counting(groups=True, disruption=True) as scene:
        groups = Groups(scene)
        Watching(scene)
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(minAvailable=1)
        assert scene.counters()[0] == 2
        change = {"metadata": {"labels": {SCOPE_LABEL: None}}}
        stored = await scene.client.patch(BUDGETS, change, "b", NS)
        assert stored["status"]["disruptionsAllowed"] == 0
        await scene.settle()
        assert scene.counters() == (3, 4, 1, 4)


@simulated
async def test_a_review_that_shows_other_numbers_than_the_api_writes_none_of_them() -> None:
    async with holding() as (scene, groups):
        watching = Watching(scene)
        await protected(scene, groups)
        true = await scene.client.get(BUDGETS, "b", NS)
        stored = scene.pdb_stored()
        lie: Json = true | {"status": true["status"] | {"currentHealthy": 99, "expectedPods": 99}}
        for meta in (
            {"annotations": {LEDGER: "{}"}, "resourceVersion": "1"},
            {"uid": "another"},
            {"name": "unknown"},
            {"name": ""},
        ):
            await watching.forge(lie | {"metadata": true["metadata"] | meta})
            assert scene.pdb_stored() == stored
        # The version is true: the budget is closed for a while, with its own numbers.
        await watching.forge(lie | {"metadata": true["metadata"] | {"annotations": {LEDGER: "{}"}}})
        closed = scene.pdb_stored()
        assert closed.status == msgspec.structs.replace(stored.status, disruptions_allowed=0)
        assert ledger_of(closed).needs == ledger_of(stored).needs
