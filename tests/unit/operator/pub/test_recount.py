"""The leader's work: what is written when, what is cleared, and which conditions come and go."""

import asyncio
from typing import Any

import msgspec
import pytest

from intact.budget.pub import recount as counting
from intact.budget.pub.kept_pods import GONE_FOR
from intact.kube.transport import Request
from intact.model.pub import PodUnavailableBudget
from intact.operator.pub import recount as recount_module
from intact.sandbox import Moment, Rule
from tests.support.objects import PODS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, ROLLOUT, STATEFUL_SET, Scene, running
from tests.unit.operator.pub.test_gate import deny, three, uid
from tests.unit.operator.pub.test_index import A

SHARDS = {"groupLabelKey": "shard", "minReadyReplicas": 2}


def writes_status(request: Request) -> bool:
    return request.method == "PUT" and request.path.endswith("/status")


def message(scene: Scene, condition: str) -> str:
    return next(one.message for one in scene.status().conditions if one.type == condition)


class TestWrites:
    @simulated
    async def test_nothing_is_written_where_nothing_has_changed(self) -> None:
        async with running() as scene:
            await three(scene)
            version = scene.stored().metadata.resource_version
            await scene.update("p-0", {"metadata": {"annotations": {"note": "x"}}})
            await scene.pods("stranger", labels={"app": "b"})
            await scene.settle(3600)
            assert scene.stored().metadata.resource_version == version

    @simulated
    async def test_events_that_come_together_are_counted_together(self) -> None:
        async with running() as scene:
            await scene.workload(STATEFUL_SET, "p", 40, pods=40, labels=A)
            await scene.budget(maxUnavailable="50%")
            await scene.settle()
            before = scene.controller.recounter.writes
            await asyncio.gather(*(scene.set_ready(f"p-{number}", False) for number in range(15)))
            await scene.settle()
            assert scene.numbers() == (5, 25, 20, 40)
            assert scene.controller.recounter.writes - before <= 3

    @simulated
    async def test_a_store_older_than_the_last_recount_is_not_counted(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.faults.hold_watches(lambda request: request.path == "/api/v1/pods")
            await scene.set_ready("p-0", False)
            text = forged(scene, seen=str(scene.api.revision))
            patch = {"status": {"ledger": text}}
            await scene.client.patch(BUDGETS, patch, "b", NS, subresource="status")
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            assert scene.controller.recounts.retries
            scene.faults.release_watches()
            await scene.settle(30)
            assert scene.numbers() == (0, 2, 2, 3)

    @pytest.mark.parametrize("moment", Moment)
    @simulated
    async def test_a_write_that_fails_is_made_again(self, moment: Moment) -> None:
        async with running() as scene:
            await three(scene)
            scene.faults.fail_next(writes_status, moment, times=3)
            await scene.set_ready("p-0", False)
            await scene.settle(30)
            assert scene.numbers() == (0, 2, 2, 3)

    @simulated
    async def test_the_gate_and_the_recount_do_not_undo_each_other(self) -> None:
        """Whatever is admitted while the recount is on its way stays in the ledger."""
        async with running() as scene:
            await scene.workload(STATEFUL_SET, "p", 10, pods=10, labels=A)
            await scene.budget(maxUnavailable=5)
            await scene.settle()
            scene.api.admit("other", deny, [Rule(("pods",), ("DELETE",))])
            for number in range(5):
                await asyncio.gather(
                    scene.set_ready("p-9", bool(number % 2)), scene.delete(f"p-{number}")
                )
                await asyncio.sleep(0.11)
            recorded = {uid(scene, f"p-{number}") for number in range(4)}
            assert scene.status().ledger.pods.keys() >= recorded


class TestRecords:
    """What was admitted counts until it is seen, and is given back if it does not happen."""

    @simulated
    async def test_a_pod_that_went_is_cleared_and_counted_as_gone(self) -> None:
        async with running() as scene:
            await three(scene)
            assert await scene.delete("p-0") == 200
            await scene.settle()
            status = scene.status()
            assert (status.ledger.pods, status.disrupted_pods) == ({}, {})
            assert scene.numbers() == (0, 2, 2, 3)

    @simulated
    async def test_a_pod_that_did_not_go_gives_its_unit_back_and_an_event_says_so(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.api.admit("other", deny, [Rule(("pods",), ("DELETE",))])
            assert await scene.delete("p-0") == 403
            await scene.settle(25)
            assert scene.status().disrupted_pods.keys() == {"p-0"}
            assert scene.numbers() == (0, 2, 2, 3)
            await scene.settle(20)
            assert scene.numbers() == (1, 3, 2, 3)
            [event] = await scene.events("NotDeleted")
            assert event["involvedObject"]["name"] == "p-0"
            assert event["message"] == (
                "The budget b allowed this pod to go, but the pod is still here after 30 s; "
                "the budget counts it again."
            )

    @simulated
    async def test_a_record_that_ends_in_the_middle_of_a_recount_is_cleared_by_the_next(
        self,
    ) -> None:
        async with running() as scene:
            await three(scene)
            scene.api.admit("other", deny, [Rule(("pods",), ("DELETE",))])
            assert await scene.delete("p-0") == 403
            await scene.settle(28)
            async with scene.controller.index.entries[NS, "b"].writing:
                scene.controller.recounts.add_after((NS, "b"), 0.1)
                await scene.settle(4)
            await scene.settle(1)
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_a_pod_that_vanished_without_an_admission_is_counted_at_once(self) -> None:
        async with running() as scene:
            await three(scene)
            await scene.finish("p-0")
            await scene.settle(1)
            assert scene.numbers() == (0, 2, 2, 3)
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_a_pod_that_fails_is_counted_at_once(self) -> None:
        async with running() as scene:
            await three(scene)
            await scene.set_ready("p-0", False)
            await scene.settle(1)
            assert scene.numbers() == (0, 2, 2, 3)
            await scene.set_ready("p-0")
            await scene.settle(1)
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_an_update_that_is_over_without_ever_being_unready_is_seen(self) -> None:
        async with running() as scene:
            await three(scene)
            await scene.run_container("p-0", "registry.example/main:1", "a")
            await scene.settle()
            assert await scene.set_image("p-0", "web:2") == 200
            await scene.settle(120)
            assert scene.numbers() == (0, 2, 2, 3)
            await scene.run_container("p-0", "web:2", "b")
            await scene.settle(1)
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_an_update_that_was_taken_back_in_time_does_not_count_for_ever(self) -> None:
        async with running() as scene:
            await three(scene)
            await scene.run_container("p-0", "registry.example/main:1", "a")
            await scene.settle()
            assert await scene.set_image("p-0", "web:2") == 200
            assert await scene.set_image("p-0", "registry.example/main:1") == 200
            await scene.settle(60)
            assert scene.numbers() == (1, 3, 2, 3)
            assert scene.status().ledger.pods == {}


class TestConditions:
    @simulated
    async def test_pods_without_the_group_label_are_named_in_a_condition(self) -> None:
        async with running() as scene:
            await scene.pods("s-0", "s-1", labels=A | {"shard": "s"})
            await scene.pods("x", "y", labels=A)
            await scene.budget(podGroupPolicy=SHARDS)
            await scene.settle()
            assert scene.condition("GroupLabelsMissing") == "True"
            assert message(scene, "GroupLabelsMissing").endswith("a unit of its own: x, y")
            assert scene.numbers() == (1, 3, 2, 3)
            for name in ("x", "y"):
                await scene.update(name, {"metadata": {"labels": {"shard": "t"}}})
            await scene.settle()
            assert scene.condition("GroupLabelsMissing") == ""
            assert scene.numbers() == (1, 2, 1, 2)

    @simulated
    async def test_a_need_that_no_group_can_reach_is_a_condition(self) -> None:
        async with running() as scene:
            await scene.pods("s-0", "s-1", labels=A | {"shard": "s"})
            await scene.budget(podGroupPolicy=SHARDS | {"minReadyReplicas": 3})
            await scene.settle()
            assert scene.condition("MinReadyReplicasUnreachable") == "True"
            assert "until a group has the pods" in message(scene, "Working")
            assert scene.numbers() == (1, 2, 1, 2)
            await scene.set_ready("s-0", False)
            await scene.settle()
            [event] = await scene.events("MinReadyReplicasUnreachable")
            assert event["involvedObject"]["kind"] == "PodUnavailableBudget"
            assert "minReadyReplicas is 3, but no group has more than 2 pods" in event["message"]
            await scene.set_ready("s-0")
            await scene.pods("s-2", labels=A | {"shard": "s"})
            await scene.settle()
            assert scene.condition("MinReadyReplicasUnreachable") == ""
            assert scene.numbers() == (1, 1, 0, 1)

    @simulated
    async def test_groups_that_are_too_small_beside_others_are_a_condition(self) -> None:
        async with running() as scene:
            for shard, pods in (("s", 2), ("t", 1)):
                await scene.workload(STATEFUL_SET, shard, 2, pods=pods, labels=A | {"shard": shard})
            await scene.budget(podGroupPolicy=SHARDS)
            await scene.settle()
            # It may still grow.
            assert scene.condition("MinReadyReplicasUnreachable") == ""
            await scene.scale(STATEFUL_SET, "t", 1)
            await scene.settle()
            assert message(scene, "MinReadyReplicasUnreachable").endswith("free to go: t")
            assert scene.numbers() == (0, 1, 1, 2)

    @simulated
    async def test_a_budget_without_pods_has_no_condition_but_working(self) -> None:
        async with running() as scene:
            await scene.budget(podGroupPolicy=SHARDS)
            await scene.settle()
            assert [one.type for one in scene.status().conditions] == ["Working"]
            assert scene.condition("Working") == "Unknown"

    @simulated
    async def test_conditions_of_other_writers_stay(self) -> None:
        async with running() as scene:
            await three(scene)
            foreign = {
                "type": "Reviewed",
                "status": "True",
                "lastTransitionTime": "2020-01-01T00:00:00Z",
            }
            conditions = [
                {"type": "Working", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
                foreign,
            ]
            await scene.client.patch(
                BUDGETS, {"status": {"conditions": conditions}}, "b", NS, subresource="status"
            )
            await scene.set_ready("p-0", False)
            await scene.settle()
            assert scene.condition("Reviewed") == "True"
            assert scene.condition("Working") == "True"


@simulated
async def test_a_pod_that_is_not_ready_does_not_count_as_available() -> None:
    async with running() as scene:
        await three(scene)
        await scene.pod("late", labels=A, ready=False)
        await scene.settle()
        # A pod without an owner is one more that should be there.
        assert scene.numbers() == (0, 3, 3, 4)
        await scene.client.delete(PODS, "late", NS)
        await scene.finish("late")
        await scene.settle()
        assert scene.numbers() == (0, 3, 3, 4)
        await scene.settle(GONE_FOR.total_seconds())
        assert scene.numbers() == (1, 3, 2, 3)


@simulated
async def test_surge_pods_may_go_beside_the_pods_that_may_be_missing() -> None:
    """More available than wanted: only what stays counts, so desired is never undercut."""
    async with running() as scene:
        await scene.workload(ROLLOUT, "p", 4, pods=6, labels=A)
        await scene.budget()
        await scene.settle()
        assert scene.numbers() == (3, 6, 3, 4)
        answers = [await scene.delete(f"p-{number}") for number in range(6)]
        assert answers == [200] * 3 + [429] * 3


def forged(scene: Scene, **values: Any) -> str:
    """The text of the stored ledger, with these values in it."""
    return msgspec.json.encode(msgspec.to_builtins(scene.status().ledger) | values).decode()


FUTURE = {"name": "p-0", "operation": "DELETE", "at": "2400-01-01T00:00:00Z"}
FORGED: dict[str, dict[str, Any]] = {
    "a recount of the future": {"seen": "999999999999999"},
    "a recount of no version": {"seen": "abc"},
    "a record of the future": {"pods": {"uid": FUTURE | {"resourceVersion": "999999999999999"}}},
    "a record of no version": {"pods": {"uid": FUTURE | {"resourceVersion": "abc"}}},
    "a record of no time": {
        "pods": {"uid": FUTURE | {"at": "soon", "operation": "FLY", "resourceVersion": "1"}}
    },
    "a record of a time in another form": {
        "pods": {"uid": FUTURE | {"at": "20260101T000000Z", "resourceVersion": "1"}}
    },
    "10,000 records of pods that never were": {
        "pods": {f"uid-{n}": FUTURE | {"resourceVersion": "10000000"} for n in range(10_000)}
    },
    "a map that is a list": {"pods": ["x"]},
}


@pytest.mark.parametrize("name", FORGED)
@simulated
async def test_nothing_in_a_ledger_can_stop_a_recount(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as scene:
        await three(scene)
        known = scene.api.peek("pods", NS, "p-0") or {}
        text = forged(scene, **FORGED[name]).replace('"uid"', f'"{known["metadata"]["uid"]}"')
        patch = {"status": {"ledger": text}}
        await scene.client.patch(BUDGETS, patch, "b", NS, subresource="status")
        await scene.settle()
        if known["metadata"]["uid"] in scene.status().ledger.pods:
            await scene.settle(31)  # the pod exists, and may have been admitted: for its lifetime
        assert scene.numbers() == (1, 3, 2, 3)
        assert scene.status().ledger.pods == {}
        [event] = await scene.events("LedgerRepaired")
        assert event["involvedObject"]["name"] == "b"
        assert (event["type"], event["count"]) == ("Warning", 1)
        assert "budget ns/b: The ledger of this budget was repaired: " in caplog.text
        # p-0 may have to let others go first: the ledger said that it was let go.
        answers = [await scene.delete(f"p-{number}") for number in range(3)]
        assert sorted(answers) == [200, 429, 429]


@simulated
async def test_a_store_that_is_behind_repairs_nothing() -> None:
    """A version that the server has reached is not out of range, whatever the store has seen."""
    async with running() as scene:
        await three(scene)
        scene.faults.hold_watches(lambda request: request.path == "/api/v1/pods")
        await scene.update("p-1", {"metadata": {"labels": {"app": "a", "x": "y"}}})
        assert await scene.delete("p-0") == 200
        await scene.finish("p-0")
        await scene.settle(10)
        assert [each.name for each in scene.status().ledger.pods.values()] == ["p-0"]
        assert await scene.events("LedgerRepaired") == []
        scene.faults.release_watches()
        await scene.settle()
        assert scene.status().ledger.pods == {}


@simulated
async def test_a_budget_whose_recount_fails_for_good_does_not_stop_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as scene:
        await three(scene)
        await scene.budget("other", select={"app": "other"}, maxUnavailable=1)
        await scene.settle()
        whole = counting.recount

        def broken(budget: PodUnavailableBudget, *rest: Any) -> Any:
            if budget.metadata.name == "b":
                raise ZeroDivisionError("a bug")
            return whole(budget, *rest)

        monkeypatch.setattr(recount_module, "recount", broken)
        await scene.set_ready("p-0", False)
        await scene.pod("q", labels={"app": "other"})
        await scene.settle()
        assert scene.numbers("other")[1] == 1
        assert scene.numbers() == (1, 3, 2, 3)
        assert await scene.delete("p-1") == 429, "the live count holds"
        assert scene.controller.recounts.retries > 3
        assert "pub ('ns', 'b'): a bug; retrying with backoff" in caplog.text


@simulated
async def test_a_budget_whose_status_cannot_be_stored_is_reported_once_and_holds() -> None:
    async with running() as scene:
        await three(scene)

        async def refuse(_request: dict[str, Any]) -> dict[str, Any]:
            return {"allowed": False, "status": {"code": 422, "reason": "Invalid"}}

        rule = Rule(("podunavailablebudgets/status",), ("UPDATE",))
        await scene.make(BUDGETS, "bad", spec={"selector": {"matchLabels": A}, "minAvailable": 1.5})
        hook = scene.api.admit("schema", refuse, [rule])
        await scene.settle(60)
        [event] = await scene.events("Unreadable")
        assert event["involvedObject"]["name"] == "bad"
        assert "spec.minAvailable" in event["message"]
        assert event["count"] == 1
        assert await scene.delete("p-0") == 429
        scene.api.withdraw(hook)
        await scene.client.patch(BUDGETS, {"spec": {"minAvailable": 1}}, "bad", NS)
        await scene.settle()
        assert scene.condition("Working", "bad") == "True"
        assert await scene.delete("p-0") == 200
