"""The disruption controller. Tables and names as in the tests of Kubernetes' own, where it has any;
numbers are (disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods)."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.support.objects import PODS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene, counting
from tests.unit.operator.pub.scene import (
    JOB,
    NS,
    REPLICA_SET,
    STATEFUL_SET,
)

A = {"app": "a"}


def before(scene: PdbScene, **ago: float) -> str:
    return (scene.clock() - timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


class TestForms:
    @simulated
    async def test_an_empty_selector_selects_everything(self) -> None:
        async with counting() as scene:
            await scene.pdb(selector={}, minAvailable=3)
            await scene.settle()
            assert scene.counters() == (0, 0, 3, 0)
            await scene.pod("yo-yo-yo", labels={"any": "label"})
            await scene.pod("bare")
            await scene.settle()
            assert scene.counters() == (0, 2, 3, 2)

    @simulated
    async def test_no_selector_selects_nothing(self) -> None:
        async with counting() as scene:
            await scene.make(BUDGETS, "b", spec={"minAvailable": 0})
            await scene.pod("p", labels=A)
            await scene.settle()
            assert scene.counters() == (0, 0, 0, 0)

    @simulated
    async def test_a_budget_needs_as_many_ready_pods_as_its_min_available(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=3)
            for number in range(4):
                await scene.settle()
                assert scene.counters() == (0, number, 3, number)
                await scene.pod(f"p-{number}", labels=A)
            await scene.settle()
            assert scene.counters() == (1, 4, 3, 4)
            assert scene.reason() == "SufficientPods"
            await scene.set_ready("p-0", False)
            await scene.settle()
            assert scene.counters() == (0, 3, 3, 4)
            assert scene.reason() == "InsufficientPods"

    @simulated
    async def test_pods_without_a_controller_are_healthy_and_not_expected(self) -> None:
        async with counting() as scene:
            await scene.pdb(maxUnavailable=1)
            await scene.pod("naked", labels=A)
            await scene.settle()
            assert scene.counters() == (0, 1, 0, 0)
            assert len(await scene.events("UnmanagedPods")) == 1

    @pytest.mark.parametrize(
        ("spec", "first", "then"),
        [
            ({"maxUnavailable": 2}, (0, 1, 5, 7), (0, 1, 3, 5)),
            ({"maxUnavailable": "30%"}, (0, 1, 4, 7), (0, 1, 3, 5)),
            ({"minAvailable": "20%"}, (0, 1, 2, 7), (0, 1, 1, 5)),
            ({"minAvailable": 0}, (1, 1, 0, 1), (1, 1, 0, 1)),
        ],
    )
    def test_a_change_of_scale_alone_is_noticed(
        self, spec: dict[str, Any], first: tuple[int, ...], then: tuple[int, ...]
    ) -> None:
        @simulated
        async def run() -> None:
            async with counting() as scene:
                await scene.pdb(**spec)
                await scene.workload(REPLICA_SET, "rs", 7, labels=A, pods=1)
                await scene.settle()
                assert scene.counters() == first
                await scene.scale(REPLICA_SET, "rs", 5)
                await scene.settle()
                assert scene.counters() == then

        run()

    @simulated
    async def test_neither_amount_allows_nothing(self) -> None:
        async with counting() as scene:
            await scene.pdb()
            await scene.pod("p", labels=A)
            await scene.settle()
            assert scene.counters() == (0, 1, 0, 0)


class TestMembers:
    @simulated
    async def test_pods_of_all_phases_are_expected(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=1)
            await scene.pods("running", "done", labels=A)
            await scene.pod("pending", labels=A, ready=False)
            await scene.client.patch(
                PODS,
                {"status": {"phase": "Succeeded", "conditions": []}},
                "done",
                NS,
                subresource="status",
            )
            await scene.settle()
            assert scene.counters() == (0, 1, 1, 3)

    @simulated
    async def test_every_matching_budget_is_recounted(self) -> None:
        async with counting() as scene:
            await scene.pdb("one", minAvailable=1)
            await scene.pdb("two", selector={}, minAvailable=0)
            await scene.pods("p", "q", labels=A)
            await scene.settle()
            await scene.set_ready("p", False)
            await scene.settle()
            assert scene.counters("one") == (0, 1, 1, 2)
            assert scene.counters("two") == (1, 1, 0, 2)
            events = await scene.events("MultiplePodDisruptionBudgets")
            assert {event["involvedObject"]["name"] for event in events} == {"p", "q"}
            assert all(event["count"] == 1 for event in events)

    @simulated
    async def test_a_pod_that_changes_its_labels_leaves_one_budget_for_another(self) -> None:
        async with counting() as scene:
            await scene.pdb("one", minAvailable=0)
            await scene.pdb("two", selector={"matchLabels": {"app": "b"}}, minAvailable=0)
            await scene.pods("p", "q", labels=A)
            await scene.settle()
            assert (scene.counters("one"), scene.counters("two")) == ((2, 2, 0, 2), (0, 0, 0, 0))
            await scene.label("p", app="b")
            await scene.settle()
            assert (scene.counters("one"), scene.counters("two")) == ((1, 1, 0, 1), (1, 1, 0, 1))
            await scene.label("p", app=None)
            await scene.settle()
            assert scene.counters("two") == (0, 0, 0, 0)

    @simulated
    async def test_another_selector_selects_other_pods(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=0)
            await scene.pods("p", labels=A)
            await scene.pods("q", "r", labels={"app": "b"})
            await scene.settle()
            assert scene.counters() == (1, 1, 0, 1)
            expression = {"key": "app", "operator": "NotIn", "values": ["a"]}
            await scene.edit(selector={"matchLabels": None, "matchExpressions": [expression]})
            await scene.settle()
            assert scene.counters() == (2, 2, 0, 2)
            assert scene.pdb_status().observed_generation == 2

    @simulated
    async def test_terminating_pods_are_not_healthy(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=1)
            await scene.pods("p", "q", labels=A)
            await scene.settle()
            await scene.delete("p")
            await scene.settle()
            assert scene.counters() == (0, 1, 1, 2)
            await scene.finish("p")
            await scene.settle()
            assert scene.counters() == (0, 1, 1, 1)


class TestDisruptedPods:
    @simulated
    async def test_update_disrupted_pods(self) -> None:
        async with counting() as scene:
            await scene.pods("p1", "p2", "p3", labels=A)
            await scene.delete("p1")
            await scene.pdb(minAvailable=1)
            minute = before(scene, minutes=1)
            await scene.set_status(
                disruptedPods={
                    "p1": before(scene),  # its deletion has begun
                    "p2": before(scene, minutes=3),  # too long ago
                    "p3": minute,
                    "notthere": before(scene),
                }
            )
            await scene.settle()
            assert scene.pdb_status().disrupted_pods == {"p3": minute}
            assert scene.counters() == (0, 1, 1, 3)
            [event] = await scene.events("NotDeleted")
            assert event["involvedObject"]["name"] == "p2"
            assert event["message"] == "Pod was expected by PDB ns/b to be deleted but it wasn't"

    @simulated
    async def test_after_two_minutes_a_pod_that_stayed_counts_again(self) -> None:
        async with counting() as scene:
            await scene.pods("p", "q", labels=A)
            await scene.pdb(minAvailable=1)
            await scene.settle()
            await scene.set_status(disruptionsAllowed=0, disruptedPods={"p": before(scene)})
            await scene.settle(110)
            assert scene.counters() == (0, 1, 1, 2)
            await scene.settle(15)
            assert scene.counters() == (1, 2, 1, 2)
            assert scene.pdb_status().disrupted_pods == {}

    @simulated
    async def test_evictions_through_the_api(self) -> None:
        async with counting() as scene:
            await scene.workload(STATEFUL_SET, "s", 3, labels=A, pods=3)
            await scene.pdb(maxUnavailable=1)
            await scene.settle()
            assert await scene.evict("s-0") == 200
            assert await scene.evict("s-1") == 429
            await scene.settle()
            assert scene.counters() == (0, 2, 2, 3)
            assert await scene.evict("s-1") == 429
            await scene.finish("s-0")
            await scene.settle()
            assert await scene.evict("s-1") == 429

    @simulated
    async def test_a_re_created_name_is_a_new_pod(self) -> None:
        async with counting() as scene:
            made = await scene.workload(STATEFUL_SET, "s", 3, labels=A, pods=3)
            await scene.pdb(maxUnavailable=1)
            await scene.settle()
            # In one moment, so that clocks cannot tell them apart.
            assert await scene.evict("s-0") == 200
            await scene.finish("s-0")
            await scene.pod("s-0", labels=A, owner=made)
            await scene.settle()
            assert scene.counters() == (1, 3, 2, 3)
            assert scene.pdb_status().disrupted_pods == {}


class TestWrites:
    @simulated
    async def test_where_nothing_has_changed_nothing_is_written(self) -> None:
        async with counting() as scene:
            await scene.pods("p", "q", labels=A)
            await scene.pdb(minAvailable=1)
            await scene.settle()
            version = scene.pdb_stored().metadata.resource_version
            await scene.update("p", {"metadata": {"annotations": {"note": "x"}}})
            await scene.settle(3600)
            assert scene.pdb_stored().metadata.resource_version == version

    @simulated
    async def test_a_failure_that_lasts_is_written_once(self) -> None:
        async with counting() as scene:
            await scene.workload(JOB, "w", labels=A, pods=2)
            await scene.pdb(maxUnavailable=1)
            await scene.settle()
            version = scene.pdb_stored().metadata.resource_version
            await scene.settle(600)
            assert scene.pdb_stored().metadata.resource_version == version
            [event] = await scene.events("CalculateExpectedPodCountFailed")
            assert event["count"] == 1

    @simulated
    async def test_labels_annotations_and_other_conditions_stay(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=3, labels={"team": "x"}, annotations={"note": "y"})
            other = {
                "type": "ExistingTestCondition",
                "status": "True",
                "reason": "Test",
                "message": "This is a test condition",
                "lastTransitionTime": before(scene),
            }
            await scene.set_status(conditions=[other])
            await scene.pod("p", labels=A)
            await scene.settle()
            stored = scene.pdb_stored()
            assert [one.type for one in stored.status.conditions] == [
                "ExistingTestCondition",
                "DisruptionAllowed",
            ]
            assert stored.metadata.labels == {"team": "x"}
            assert stored.metadata.annotations["note"] == "y"

    @simulated
    async def test_the_counters_of_replicas_equal_those_of_pods(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=1)
            await scene.pods("p", "q", "r", labels=A)
            await scene.settle()
            text = scene.pdb_stored().metadata.annotations["intact.dev/replicas"]
            assert json.loads(text) == {
                "disruptionsAllowedReplicas": 2,
                "currentHealthyReplicas": 3,
                "desiredHealthyReplicas": 1,
                "expectedReplicas": 3,
            }

    @simulated
    async def test_a_budget_is_counted_again_after_a_conflict(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=1)
            await scene.pods("p", "q", labels=A)
            await scene.settle()
            scene.wire.delay = lambda request: 1.0 if request.method == "PATCH" else 0.0
            await scene.set_ready("p", False)
            await scene.settle(0.5)  # the write is on its way
            await scene.edit(minAvailable=0)
            await scene.settle(10)
            assert scene.counters() == (1, 1, 0, 2)
            assert scene.pdb_controller.disruption_writer.conflicts >= 1

    @simulated
    async def test_a_budget_without_pods_gets_one_event(self) -> None:
        async with counting() as scene:
            await scene.pdb(minAvailable=1)
            await scene.settle()
            await scene.edit(minAvailable=2)
            await scene.settle()
            [event] = await scene.events("NoPods")
            assert (event["type"], event["count"]) == ("Normal", 1)

    @simulated
    async def test_an_invalid_selector_fails_safe(self) -> None:
        async with counting() as scene:
            bad = {"key": "app", "operator": "Near", "values": ["a"]}
            await scene.pdb(minAvailable=1, selector={"matchExpressions": [bad]})
            await scene.pods("p", "q", labels=A)
            await scene.settle()
            assert scene.reason() == "SyncFailed"
            [event] = await scene.events("NoPods")
            assert (event["type"], event["count"]) == ("Warning", 1)
            assert "Failed to get pods: spec.selector.matchExpressions" in event["message"]
            assert not await scene.events("CalculateExpectedPodCountFailed")

    @simulated
    async def test_without_the_controller_unlabelled_budgets_are_left_alone(self) -> None:
        async with counting(disruption=False) as scene:
            await scene.pdb(minAvailable=1)
            await scene.pods("p", "q", labels=A)
            await scene.settle()
            assert scene.pdb_status().observed_generation == 0
            assert scene.pdb_stored().metadata.annotations == {}


@simulated
async def test_a_label_that_nobody_holds_is_said() -> None:
    async with counting(groups=False, disruption=True) as scene:
        await scene.pod("a")
        await scene.pdb(labels={"intact.dev/budget-scope": "Workload"}, minAvailable=0)
        await scene.pdb("plain", minAvailable=0)
        await scene.settle()
        said = scene.pdb_status().conditions[1]
        assert (said.type, said.status, said.reason) == (
            "BudgetConfigured",
            "False",
            "GroupsNotHeld",
        )
        assert "the budget counts pods" in said.message
        [event] = await scene.events("GroupsNotHeld")
        assert event["type"] == "Warning"
        assert [each.type for each in scene.pdb_status("plain").conditions] == ["DisruptionAllowed"]
        # Not any more once the budget does not ask for groups.
        unlabel = {"metadata": {"labels": {"intact.dev/budget-scope": None}}}
        await scene.client.patch(BUDGETS, unlabel, "b", NS)
        await scene.settle()
        assert [each.type for each in scene.pdb_status().conditions] == ["DisruptionAllowed"]
