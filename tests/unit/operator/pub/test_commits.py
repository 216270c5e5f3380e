"""Group commit: few writes, and in all processes exactly as many admissions as are allowed."""

import asyncio
import json
import random
from typing import Any

import msgspec
import pytest

from intact.budget.pub.decision import Reason
from intact.budget.pub.ledger import Operation
from intact.budget.pub.subject import Subject
from intact.kube.errors import Conflict
from intact.kube.transport import Request
from intact.sandbox import Moment
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, STATEFUL_SET, Scene, running
from tests.unit.operator.pub.test_index import A


def writes_status(request: Request) -> bool:
    return request.method == "PUT" and request.path.endswith("/b/status")


async def crowd(scene: Scene, pods: int = 20, **budget: Any) -> list[str]:
    """Many pods under one budget, counted."""
    await scene.workload(STATEFUL_SET, "p", pods, pods=pods, labels=A)
    await scene.budget(**budget)
    await scene.settle()
    return [f"p-{number}" for number in range(pods)]


def subject(scene: Scene, name: str) -> Subject:
    meta = (scene.api.peek("pods", NS, name) or {})["metadata"]
    return Subject(
        name=name,
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
        available=True,
    )


@pytest.mark.parametrize("seed", range(5))
@simulated
async def test_admissions_that_wait_together_are_stored_together(seed: int) -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=8)
        commits = scene.controller.commits
        answers = await asyncio.gather(*map(scene.delete, names))
        assert sorted(answers) == [200] * 8 + [429] * 12
        assert commits.committed == 8
        assert commits.commits <= 3
        await scene.settle()
        assert scene.numbers() == (0, 12, 12, 20)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("percent", ["10%", "50%"])
@simulated
async def test_two_controllers_together_admit_exactly_what_is_allowed(
    seed: int, percent: str
) -> None:
    """None has come back meanwhile, and each answer is a 200 or a 429."""
    async with running(controllers=2) as scene:
        names = await crowd(scene, pods=30, maxUnavailable=percent)
        random.Random(seed).shuffle(names)
        scene.faults.delay_watches(0, 3)
        answers = await asyncio.gather(*map(scene.evict, names))
        allowed = 3 if percent == "10%" else 15
        assert sorted(answers) == [200] * allowed + [429] * (30 - allowed)
        assert len(scene.names()) == 30 - allowed
        await scene.settle(10)
        assert scene.numbers() == (0, 30 - allowed, 30 - allowed, 30)


@simulated
async def test_the_loser_of_a_race_decides_again_on_the_fresh_budget() -> None:
    async with running(controllers=2) as scene:
        await crowd(scene, maxUnavailable=1)
        scene.faults.hold_watches()
        one, two = (each.commits for each in scene.controllers)
        key = (NS, "b")
        first = await one.commit(key, subject(scene, "p-0"), Operation.DELETE)
        assert first.reason is Reason.BUDGET
        # The other still believes that a unit is left.
        entry = scene.controllers[1].index.entries[key]
        assert two.preview(entry, subject(scene, "p-1"), Operation.DELETE).allowed
        second = await two.commit(key, subject(scene, "p-1"), Operation.DELETE)
        assert second.reason is Reason.EXHAUSTED
        assert two.conflicts == 1
        third = await two.commit(key, subject(scene, "p-0"), Operation.EVICT)
        assert third.reason is Reason.RECORDED


@simulated
async def test_a_recount_stores_the_waiting_admissions_in_its_own_write() -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        commits, entry = scene.controller.commits, scene.controller.index.entries[NS, "b"]
        asked = [
            asyncio.create_task(commits.commit((NS, "b"), subject(scene, name), Operation.DELETE))
            for name in names[:2]
        ]
        await asyncio.sleep(0)
        async with entry.writing:
            counted = msgspec.structs.replace(entry.budget.status)
            await commits.store_with(entry, entry.budget, counted)
        version = scene.stored().metadata.resource_version
        reasons = [(await one).reason for one in asked]
        assert reasons == [Reason.BUDGET, Reason.EXHAUSTED]
        assert (commits.commits, commits.committed) == (1, 1)
        assert scene.stored().metadata.resource_version == version
        assert scene.status().ledger.pods.keys() == {subject(scene, names[0]).uid}


@simulated
async def test_an_admission_that_waits_for_a_recount_that_is_not_stored_is_decided_by_itself() -> (
    None
):
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        commits, entry = scene.controller.commits, scene.controller.index.entries[NS, "b"]
        scene.faults.hold_watches()
        base = entry.budget
        await scene.client.patch(
            BUDGETS, {"status": {"unavailableAllowed": 0}}, "b", NS, subresource="status"
        )
        asked = asyncio.create_task(
            commits.commit((NS, "b"), subject(scene, names[0]), Operation.DELETE)
        )
        await asyncio.sleep(0)
        async with entry.writing:
            with pytest.raises(Conflict):
                await commits.store_with(entry, base, msgspec.structs.replace(base.status))
            assert not asked.done()
        assert (await asked).reason is Reason.EXHAUSTED


@simulated
async def test_the_last_surplus_pod_is_taken_once() -> None:
    async with running(controllers=2) as scene:
        await scene.pods("s-0", "s-1", "s-2", labels=A | {"shard": "s"})
        await scene.budget(
            maxUnavailable=0, podGroupPolicy={"groupLabelKey": "shard", "minReadyReplicas": 2}
        )
        await scene.settle()
        scene.faults.hold_watches()
        answers = await asyncio.gather(*(scene.delete(f"s-{number}") for number in range(3)))
        assert sorted(answers) == [200, 429, 429]


@simulated
async def test_a_write_whose_answer_is_lost_is_a_denial_and_the_next_try_is_free() -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        scene.faults.fail_next(writes_status, Moment.AFTER)
        assert await scene.delete(names[0]) == 429
        assert scene.status().ledger.pods.keys() == {subject(scene, names[0]).uid}
        assert await scene.delete(names[0]) == 200
        assert await scene.delete(names[1]) == 429


@simulated
async def test_a_write_that_fails_is_a_denial_that_says_so() -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        scene.faults.fail_next(writes_status)
        decision = await scene.controller.commits.commit(
            (NS, "b"), subject(scene, names[0]), Operation.DELETE
        )
        assert (decision.allowed, decision.reason) == (False, Reason.UNWRITABLE)
        assert "cannot store its decision in the budget b now" in decision.message
        assert scene.status().ledger.pods == {}
        assert await scene.delete(names[0]) == 200


@simulated
async def test_a_preview_stores_nothing() -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        entry = scene.controller.index.entries[NS, "b"]
        version = scene.stored().metadata.resource_version
        for name in names:
            asked = subject(scene, name)
            assert scene.controller.commits.preview(entry, asked, Operation.DELETE).allowed
        assert scene.stored().metadata.resource_version == version


@simulated
async def test_a_budget_that_is_gone_holds_no_pod() -> None:
    """Also while it is still in the store."""
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        scene.faults.hold_watches()
        await scene.client.delete(BUDGETS, "b", NS)
        assert await scene.delete(names[0]) == 200
        assert await scene.delete(names[1]) == 200


@simulated
async def test_a_request_that_is_cancelled_does_not_disturb_the_others() -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=2)
        commits, key = scene.controller.commits, (NS, "b")
        asked = [
            asyncio.create_task(commits.commit(key, subject(scene, name), Operation.DELETE))
            for name in names[:3]
        ]
        await asyncio.sleep(0)
        asked[0].cancel()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert [one.allowed for one in answers[1:]] == [True, False]  # type: ignore[union-attr]


@simulated
async def test_a_bad_record_denies_the_request_of_its_pod_until_it_is_repaired() -> None:
    async with running() as scene:
        names = await crowd(scene, maxUnavailable=1)
        asked = subject(scene, names[0])
        wrong = {"name": names[0], "operation": "EVICT", "at": "noon", "resourceVersion": "1"}
        body = {"status": {"ledger": json.dumps({"pods": {asked.uid: wrong}})}}
        await scene.client.patch(BUDGETS, body, "b", NS, subresource="status")
        await scene.settle(0.05)
        commits, key = scene.controller.commits, (NS, "b")
        denied = await commits.commit(key, asked, Operation.DELETE)
        assert (denied.allowed, denied.reason) == (False, Reason.NOT_PROCESSED)
        assert "states a time that is not in the past" in denied.message
        other = await commits.commit(key, subject(scene, names[1]), Operation.DELETE)
        assert other.reason is Reason.LIVE_COUNT


@simulated
async def test_a_record_that_a_restore_has_undone_lets_no_pod_go() -> None:
    async with running() as scene:
        await crowd(scene, maxUnavailable=1)
        key, commits = (NS, "b"), scene.controller.commits
        before = scene.api.snapshot()
        pod = subject(scene, "p-0")
        assert (await commits.commit(key, pod, Operation.DELETE)).reason is Reason.BUDGET
        scene.faults.fail_randomly(1.0, Moment.BEFORE, is_read)
        scene.api.restore(before)
        await asyncio.sleep(0.1)
        asking = asyncio.create_task(commits.commit(key, pod, Operation.DELETE))
        await asyncio.sleep(0.5)
        scene.faults.heal()
        assert (await asking).allowed
        assert pod.uid in scene.status().ledger.pods


@simulated
async def test_a_budget_in_doubt_is_not_waited_for_for_ever() -> None:
    async with running() as scene:
        await crowd(scene, maxUnavailable=1)
        scene.faults.fail_randomly(1, Moment.BEFORE, is_read)
        scene.faults.break_watches()
        await asyncio.sleep(0.1)
        answer = await scene.controller.commits.commit(
            (NS, "b"), subject(scene, "p-0"), Operation.DELETE
        )
        assert not answer.allowed
        assert "has been lost" in answer.message


def is_read(request: Request) -> bool:
    return request.method == "GET"
