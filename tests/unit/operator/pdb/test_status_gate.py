"""The gate as evictions and other writers meet it, on the API in memory."""

import asyncio
import logging

import msgspec
import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.client import Client
from intact.model.admission import AdmissionResponse, read_request
from intact.model.times import parse_time
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import LABELS, holding
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene
from tests.unit.operator.pub.scene import NS


@simulated
async def test_the_gate_lets_one_group_go_and_no_other() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue", "green"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        assert groups.replicas() == (1, 3, 2, 3)
        assert scene.counters() == (2, 6, 4, 6)
        assert await scene.evict("red-0") == 200
        # Without any recount: what is stored is right at once.
        assert groups.replicas()[:2] == (0, 2)
        assert scene.counters()[:2] == (1, 5)
        assert scene.reason() == "InsufficientReplicas"
        assert "blue-0 of group 'blue' cannot go now" in await groups.denial("blue-0")
        assert await scene.evict("red-1") == 200
        await scene.settle()
        assert groups.replicas() == (0, 2, 2, 3)
        assert groups.reads_in_admissions == 0


@simulated
async def test_the_audit_log_gets_what_was_decided_about_which_group() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        assert [each.get("reason") for each in groups.audited] == ["IntactProbe", None]
        assert groups.audited[1] == {"decision": "allowed"}  # the recount of Intact itself
        before = len(groups.audited)
        assert await scene.evict("red-0") == 200
        await groups.denial("blue-0")
        budget = f"PodDisruptionBudget/{NS}/b"
        assert groups.audited[before:] == [
            {"decision": "allowed", "budget": budget, "reason": "Budget", "group": "red"},
            {"decision": "denied", "budget": budget, "reason": "BudgetExhausted", "group": "blue"},
        ]


@simulated
async def test_a_pod_above_its_groups_need_costs_nothing() -> None:
    async with holding() as (scene, groups):
        await groups.group("red", 3)
        await groups.group("blue")
        await groups.budget(minAvailable=2)
        assert (groups.replicas(), scene.counters()[0]) == ((0, 2, 2, 2), 1)
        assert await scene.evict("red-0") == 200
        assert groups.replicas()[:2] == (0, 2)
        await scene.settle()
        assert scene.counters()[0] == 0
        await groups.denial("red-1")


@simulated
async def test_a_status_of_another_writer_changes_nothing() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0") == 200
        before = scene.pdb_stored()
        # As the stock controller does: its own numbers, and what it has seen to go left out.
        await scene.client.patch(
            BUDGETS,
            {"status": {"disruptionsAllowed": 9, "disruptedPods": {"red-0": None}}},
            "b",
            NS,
            subresource="status",
        )
        assert scene.pdb_stored() == before
        await scene.settle()
        writes = scene.pdb_controller.group_writer.writes
        await scene.settle(60)
        assert scene.pdb_controller.group_writer.writes <= writes + 1


@simulated
async def test_a_gate_that_has_not_seen_the_pod_yet_waits_and_denies() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        pods = scene.pdb_controller._watches.pods.store
        hidden = pods._objects.pop((NS, "red-0"))
        eviction = asyncio.create_task(scene.evict("red-0"))
        await asyncio.sleep(1)
        assert not eviction.done()
        pods._objects[NS, "red-0"] = hidden
        assert await eviction == 200
        del pods._objects[NS, "red-1"]
        assert "this gate has not seen pod red-1 yet" in await groups.denial("red-1")


@simulated
async def test_a_pod_without_a_group_is_denied_with_what_to_do() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await scene.pod("lost", labels=LABELS)
        await groups.budget(maxUnavailable=1)
        assert "Pod lost belongs to no group" in await groups.denial("lost")


@simulated
async def test_another_writers_annotations_are_stored_and_intacts_are_kept() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        before = scene.pdb_stored().metadata.annotations
        theirs = {"note": "theirs", "intact.dev/ledger": None, "intact.dev/replicas": "{}"}
        body = {"metadata": {"annotations": theirs}, "status": {"disruptionsAllowed": 9}}
        await scene.client.patch(BUDGETS, body, "b", NS, subresource="status")
        assert scene.pdb_stored().metadata.annotations == before | {"note": "theirs"}
        assert scene.counters()[0] == 2


@simulated
async def test_conditions_of_other_writers_survive_recounts_and_evictions() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.group("blue")
        await groups.budget(maxUnavailable=1)
        ours = scene.pdb_status().conditions
        theirs = {
            "type": "Reviewed", "status": "True", "reason": "ByHand", "message": "fine",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        lie = {**theirs, "type": "BudgetConfigured", "status": "False"}
        await scene.set_status(conditions=[lie, theirs], disruptionsAllowed=9)
        assert (scene.pdb_status().conditions[:2], scene.counters()[0]) == (ours, 2)
        assert types_of(scene) == ["DisruptionAllowed", "BudgetConfigured", "Reviewed"]
        assert await scene.evict("red-0") == 200
        await scene.finish("red-0")
        await scene.settle()
        assert types_of(scene) == ["DisruptionAllowed", "BudgetConfigured", "Reviewed"]
        # Its writer may change it, and take it back.
        rest = [msgspec.to_builtins(each) for each in scene.pdb_status().conditions[:2]]
        await scene.set_status(conditions=[*rest, {**theirs, "status": "False"}])
        assert scene.pdb_status().conditions[2].status == "False"
        await scene.set_status(conditions=[])
        assert types_of(scene) == ["DisruptionAllowed", "BudgetConfigured"]


def types_of(scene: PdbScene) -> list[str]:
    return [each.type for each in scene.pdb_status().conditions]


@simulated
async def test_only_intacts_own_user_is_believed_to_be_intact() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        before = scene.pdb_stored()
        mallory = Client(scene.api.as_user("mallory"))
        for manager in ("intact-groups", ""):
            await mallory.patch(
                BUDGETS,
                {
                    "metadata": {"labels": {SCOPE_LABEL: None}},
                    "status": {"disruptionsAllowed": 9},
                },
                "b",
                NS,
                subresource="status",
                field_manager=manager,
            )
        after = scene.pdb_stored()
        assert (after.status, after.metadata.labels) == (before.status, before.metadata.labels)
        await scene.settle()
        assert scene.counters()[0] == 2


@simulated
async def test_an_eviction_that_was_begun_before_another_write_is_brought_forward() -> None:
    """The API server would wait for half a second after a conflict. What the other writer has
    stored stays."""
    async with holding() as (scene, groups):
        for name in ("red", "blue", "green"):
            await groups.group(name)
        await groups.budget(maxUnavailable=2)
        gate = scene.pdb_controller.status_gate
        review, seen = gate.review, []

        async def interrupted(raw: msgspec.Raw) -> AdmissionResponse:
            request = read_request(raw)
            answer = await review(raw)
            if request.user_info.username == "system:apiserver":
                seen.append(request.name)
                if len(seen) == 1:
                    note = {"metadata": {"annotations": {"note": "x"}, "labels": {"team": "y"}}}
                    await scene.client.patch(BUDGETS, note, "b", NS)
            return answer

        gate.review = interrupted  # type: ignore[method-assign]
        begun = asyncio.get_running_loop().time()
        assert await scene.evict("red-0") == 200
        assert asyncio.get_running_loop().time() - begun < 0.4
        assert len(seen) == 2
        found = scene.pdb_stored()
        assert found.metadata.annotations["note"] == "x"
        assert found.metadata.labels["team"] == "y"
        assert list(found.status.disrupted_pods) == ["red-0"]
        assert groups.replicas()[:2] == (1, 2)
        await scene.settle()
        assert groups.replicas()[:2] == (1, 2)


@simulated
async def test_an_eviction_that_is_brought_forward_has_the_time_of_its_answer() -> None:
    """A successor of the pod may be the one that goes: an entry from before its creation would not
    stand for it."""
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        gate = scene.pdb_controller.status_gate
        review, times = gate.review, []

        async def slow(raw: msgspec.Raw) -> AdmissionResponse:
            request = read_request(raw)
            answer = await review(raw)
            if request.user_info.username == "system:apiserver":
                times.append(scene.clock())
                if len(times) == 1:
                    await asyncio.sleep(5)
                    note = {"metadata": {"annotations": {"note": "x"}}}
                    await scene.client.patch(BUDGETS, note, "b", NS)
            return answer

        gate.review = slow  # type: ignore[method-assign]
        assert await scene.evict("red-0") == 200
        [stored] = scene.pdb_stored().status.disrupted_pods.values()
        assert len(times) == 2
        assert times[0] < times[1].replace(microsecond=0) <= parse_time(stored)


@simulated
async def test_a_late_eviction_is_decided_on_what_is_stored_now() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue", "green"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        answers = await asyncio.gather(scene.evict("red-0"), scene.evict("blue-0"))
        assert sorted(answers) == [200, 429]
        assert groups.replicas()[:2] == (0, 2)


@pytest.mark.parametrize("is_late", [False, True], ids=["fresh", "late"])
@simulated
async def test_nothing_is_kept_or_told_of_a_budget_that_is_not_there(
    is_late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(minAvailable=2)
        caplog.set_level(logging.INFO)
        controller = scene.pdb_controller
        for number in range(100):
            forged = scene.api.peek("poddisruptionbudgets.policy", NS, "b") or {}
            forged["metadata"] |= {"uid": f"{number}"} if number % 2 else {"name": f"b{number}"}
            version = {"resourceVersion": "1"} if is_late else {}
            old = forged | {"metadata": forged["metadata"] | version}
            status = forged["status"] | {"disruptedPods": {"red-0": "2026-01-01T00:00:00Z"}}
            request = {
                "uid": "u",
                "namespace": NS,
                "userInfo": {"username": "system:apiserver"},
                "oldObject": old,
                "object": forged | {"status": status},
                "options": {},
            }
            raw = msgspec.Raw(msgspec.json.encode(request))
            answer = await controller.status_gate.review(raw)
            # What is late is a conflict, and never stored.
            assert (answer.allowed, answer.patch) == (is_late, "")
        await scene.settle()
        assert controller.denied == {}
        assert await scene.events("DisruptionDenied") == []
        assert "denied EVICT" not in caplog.text
        assert controller.status_gate._carried == {}
