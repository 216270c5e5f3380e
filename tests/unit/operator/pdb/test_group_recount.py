"""The recount of budgets that count groups, on the API in memory."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from intact.budget.pdb.annotations import ledger_of
from intact.budget.pdb.group_settings import LEDGER, rules_of
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.model.pod import Pod
from intact.operator.pdb import group_recount
from intact.operator.pdb.tallies import counting_groups
from intact.sandbox import Moment
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import BY_LABEL, LABELS, Groups, holding
from tests.unit.operator.pdb.scene import BUDGETS, PdbScene, counting
from tests.unit.operator.pub.scene import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NS,
    PLAN,
    REPLICA_SET,
    ROLLOUT,
    STATEFUL_SET,
    Anything,
)


@simulated
async def test_where_pods_are_counted_too_a_budget_without_pods_gets_an_event() -> None:
    async with counting(groups=True, disruption=True) as scene:
        groups = Groups(scene)
        await groups.budget(maxUnavailable=1)
        [event] = await scene.events("NoPods")
        assert event["involvedObject"]["name"] == "b"


@simulated
async def test_a_misconfigured_budget_is_counted_once_and_a_warning_never() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            lws = {"leaderworkerset.sigs.k8s.io/name": name}
            await scene.pod(f"{name}-0", labels={**LABELS, **lws, "g": name})
        await groups.budget({"intact.dev/group-label-key": "g"}, maxUnavailable=1)
        assert reason_of(scene, "BudgetConfigured") == "MultipleWorkloadsDetected"
        assert scene.pdb_controller.group_recount.misconfigured == 0
        for name in ("lost", "found"):
            await scene.pod(name, labels=LABELS)
            await scene.settle()
        assert reason_of(scene, "BudgetConfigured") == "MissingWorkloadReference"
        assert scene.pdb_controller.group_recount.misconfigured == 1


def reason_of(scene: PdbScene, kind: str) -> str:
    [found] = [each.reason for each in scene.pdb_status().conditions if each.type == kind]
    return found


@simulated
async def test_a_pod_that_comes_back_under_its_name_is_another() -> None:
    async with holding() as (scene, groups):
        owner = await scene.workload(STATEFUL_SET, "set", 4)
        for name in ("red", "blue"):
            await groups.group(name, owner=owner)
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0") == 200
        await groups.denial("blue-0")
        await scene.finish("red-0")
        await scene.pod("red-0", labels={**LABELS, "g": "red"}, owner=owner)
        await scene.settle()
        assert groups.replicas() == (1, 2, 1, 2)
        assert scene.pdb_status().disrupted_pods == {}
        assert await scene.evict("blue-0") == 200


@simulated
async def test_an_eviction_that_does_not_happen_counts_again_after_two_minutes() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0", uid="another") == 409
        await scene.settle()
        assert groups.replicas()[:2] == (0, 0)
        await scene.settle(110)
        assert groups.replicas()[:2] == (0, 0)
        await scene.settle(10)
        assert groups.replicas()[:2] == (1, 1)
        assert await scene.events("NotDeleted")


@simulated
async def test_an_eviction_that_ends_in_the_middle_of_a_recount_counts_again_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def slowly(_client: object, pods: list[Pod]) -> dict[str, str]:
        await asyncio.sleep(4)
        return {pod.metadata.uid: pod.metadata.resource_version for pod in pods}

    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        assert await scene.evict("red-0", uid="another") == 409
        await scene.settle(118)
        monkeypatch.setattr(group_recount, "versions_now", slowly)
        scene.pdb_controller.recounts.add_after((NS, "b"), 0.1)
        await scene.settle(12)
        assert groups.replicas()[:2] == (1, 1)


@simulated
async def test_a_recount_that_changes_nothing_writes_nothing() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        version = scene.pdb_stored().metadata.resource_version
        await scene.update("red-0", {"metadata": {"annotations": {"note": "x"}}})
        counted = scene.pdb_controller.reconciliations["group"]
        scene.pdb_controller.recounts.add((NS, "b"))
        await scene.settle(60)
        assert scene.pdb_controller.reconciliations["group"] == counted + 1
        assert scene.pdb_stored().metadata.resource_version == version


@simulated
async def test_a_recount_that_loses_against_an_edit_counts_by_the_new_rules() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.group("blue")
        await groups.budget(maxUnavailable=1)
        scene.wire.delay = lambda request: 1.0 if request.method == "PATCH" else 0.0
        await scene.set_ready("red-0", False)
        await scene.settle(0.5)  # the write is on its way
        await scene.edit(maxUnavailable=2)
        await scene.settle(10)
        assert groups.replicas() == (1, 1, 0, 2)
        assert scene.pdb_controller.group_writer.conflicts >= 1


@simulated
async def test_a_budget_with_new_rules_waits_for_the_counts_that_fit_them() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await groups.budget(maxUnavailable=1)
        scene.faults.hold_watches(lambda request: "poddisruptionbudgets" in request.path)
        scene.wire.delay = lambda request: 1.0 if request.method == "PATCH" else 0.0
        await scene.pod("red-2", labels={**LABELS, "g": "red"})
        await scene.settle(0.5)  # the write is on its way
        need = {"metadata": {"annotations": {"intact.dev/min-ready-replicas": "4"}}}
        await scene.client.patch(BUDGETS, need, "b", NS)
        await scene.settle(3)
        assert scene.pdb_controller.group_writer.conflicts >= 1
        stored = scene.pdb_stored()
        assert ledger_of(stored).rules != rules_of(stored)
        scene.faults.release_watches()
        await scene.settle(30)
        assert groups.replicas() == (0, 0, 0, 1)


@simulated
async def test_the_counts_forget_evictions_and_groups_that_are_over() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        [(_, counts)] = counting_groups(scene.pdb_controller.index)
        for name in ("red-0", "red-1"):
            assert await scene.evict(name) == 200
            await scene.finish(name)
        await scene.settle()
        assert (set(counts.evicted), set(counts.vanished)) == ({"red-0", "red-1"}, {"red"})
        await scene.settle(130)
        await scene.pod("blue-2", labels={**LABELS, "g": "blue"})  # so that it is counted
        await scene.settle()
        assert (counts.evicted, counts.vanished) == ({}, {})


@simulated
async def test_a_group_whose_controller_is_gone_is_not_expected_back() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            owner = await scene.workload(STATEFUL_SET, name, 2)
            await groups.group(name, owner=owner)
        await groups.budget(maxUnavailable=1)
        for name in ("red-0", "red-1"):
            await scene.delete(name)
            await scene.finish(name)
        await scene.settle()
        assert groups.replicas() == (0, 1, 1, 2)
        await scene.client.delete(STATEFUL_SET, "red", NS)
        await scene.pod("blue-2", labels={**LABELS, "g": "blue"})  # so that it is counted
        await scene.settle()
        assert groups.replicas() == (1, 1, 0, 1)


@pytest.mark.parametrize("is_gone", [False, True], ids=["at 0", "gone"])
@simulated
async def test_a_deployment_wants_back_the_group_of_a_replica_set_that_is(is_gone: bool) -> None:
    """As between the old pods of a Deployment that re-creates them, and the new ones."""
    async with holding() as (scene, groups):
        for name in ("red", "blue", "green"):
            top = await scene.workload(DEPLOYMENT, name, 2)
            owner = await scene.workload(REPLICA_SET, f"{name}-1", 2, owner=top)
            await groups.group(name, owner=owner)
        await groups.budget(maxUnavailable=1)
        assert groups.replicas() == (1, 3, 2, 3)
        if is_gone:
            await scene.client.delete(REPLICA_SET, "red-1", NS)
        else:
            await scene.scale(REPLICA_SET, "red-1", 0)
        for name in ("red-0", "red-1"):
            await scene.delete(name)
            await scene.finish(name)
        top = await scene.client.get(DEPLOYMENT, "red", NS)
        top |= {"apiVersion": DEPLOYMENT.api_version, "kind": DEPLOYMENT.kind}
        owner = await scene.workload(REPLICA_SET, "red-2", 2, owner=top)
        await scene.settle()
        assert groups.replicas() == (0, 2, 2, 3)
        # Its new pods are of another group: the old one does not come back.
        for number in range(2):
            name = f"white-{number}"
            await scene.pod(name, labels={**LABELS, "g": "white"}, owner=owner)
        await scene.settle()
        assert groups.replicas() == (1, 3, 2, 3)


@simulated
async def test_a_need_that_no_group_reaches_holds_all_and_is_told_until_one_does() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name, 3)
        await groups.budget({**BY_LABEL, "intact.dev/min-ready-replicas": "4"}, maxUnavailable=2)
        assert reason_of(scene, "BudgetConfigured") == "NeedNotReached"
        assert scene.counters()[0] == 0
        # Groups that are just starting are no reason for an event.
        assert await scene.events("NeedNotReached") == []
        await scene.settle(10)
        [event] = await scene.events("NeedNotReached")
        assert event["type"] == "Warning"
        assert "groups need 4 pods, and the largest has 3" in event["message"]
        await scene.pod("red-3", labels={**LABELS, "g": "red"})
        await scene.settle()
        assert reason_of(scene, "BudgetConfigured") == "ValidConfig"
        assert scene.counters()[0] == 4 + 3
        # It is not forgotten when that pod goes, and the group is unavailable then.
        assert await scene.evict("red-3") == 200
        await scene.finish("red-3")
        await scene.settle()
        assert reason_of(scene, "BudgetConfigured") == "ValidConfig"
        assert await scene.evict("blue-0") == 200


@simulated
async def test_after_a_restore_of_the_server_groups_are_counted_and_held_again() -> None:
    """The versions of budget and pods are lower than what the process has seen."""
    async with holding() as (scene, groups):
        owner = await scene.workload(STATEFUL_SET, "set", 4)
        for name in ("red", "blue"):
            await groups.group(name, owner=owner)
        await groups.budget(maxUnavailable=1)
        backup = scene.api.snapshot()
        for step in range(5):  # will be lost
            assert await scene.evict("red-0") == 200
            await scene.finish("red-0")
            await scene.pod("red-0", labels={**LABELS, "g": "red"}, owner=owner)
            await scene.update("blue-0", {"metadata": {"annotations": {"step": str(step)}}})
            await scene.settle()
        assert groups.replicas() == (1, 2, 1, 2)
        before = scene.pdb_stored().metadata.resource_version
        scene.api.restore(backup)
        await scene.settle()
        assert await scene.evict("blue-0") == 200
        await groups.denial("red-0")
        await scene.finish("blue-0")
        await scene.settle(12)
        assert groups.replicas() == (0, 1, 1, 2)
        await scene.pod("blue-0", labels={**LABELS, "g": "blue"}, owner=owner)
        await scene.settle()
        assert groups.replicas() == (1, 2, 1, 2)
        ledger = ledger_of(scene.pdb_stored())
        assert int(ledger.seen) <= int(scene.pdb_stored().metadata.resource_version) < int(before)


@simulated
async def test_nothing_is_counted_or_let_go_while_the_server_is_not_heard() -> None:
    async with holding() as (scene, groups):
        for name in ("red", "blue"):
            await groups.group(name)
        await groups.budget(maxUnavailable=1)
        before = scene.pdb_stored()
        scene.faults.fail_randomly(
            1.0, Moment.BEFORE, lambda request: request.path == "/api/v1/pods"
        )
        scene.faults.break_watches()
        await scene.settle(10)
        scene.pdb_controller.recounts.add((NS, "b"))
        assert "this gate has lost its watches" in await groups.denial("red-0")
        assert scene.pdb_stored() == before
        scene.faults.heal()
        await scene.settle(10)
        assert await scene.evict("red-0") == 200


@pytest.mark.parametrize("kind", [DAEMON_SET, JOB, PLAN, ROLLOUT, None])
@simulated
async def test_what_was_admitted_does_not_lower_the_number_of_groups(
    kind: Anything | None,
) -> None:
    """Whoever owns the pods, and even if no other pods come."""
    async with holding() as (scene, groups):
        for name in ("a", "b", "c", "d"):
            owner = await scene.workload(kind, name, 1) if kind else None
            await groups.group(name, 1, owner=owner)
        one = {"intact.dev/group-label-key": "g"}
        await groups.budget(one, maxUnavailable=1)
        assert await scene.evict("a-0") == 200
        await scene.finish("a-0")
        await scene.settle(110)
        assert groups.replicas() == (0, 3, 3, 4)
        await groups.denial("b-0")
        await scene.settle(15)
        assert groups.replicas() == (1, 3, 2, 3)


FORGED: dict[str, dict[str, Any]] = {
    "a recount of the future": {"seen": "999999999999999"},
    "a recount of no version": {"seen": "abc"},
    "absent since the future": {"absent": {"red": "2400-01-01T00:00:00Z"}},
    "absent since no time": {"absent": {"green": "soon"}},
    "a record of the future": {"pods": {"red-0": {"uid": "x", "version": "999999999999999"}}},
    "10,000 records": {"pods": {f"x-{n}": {"version": "9" * 18} for n in range(10_000)}},
    "a map that is a list": {"pods": ["x"]},
}


@pytest.mark.parametrize("name", FORGED)
@simulated
async def test_nothing_in_a_ledger_can_stop_a_recount(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with holding() as (scene, groups):
        for group in ("red", "blue"):
            await groups.group(group)
        await groups.budget(maxUnavailable=1)
        ledger = ledger_of(scene.pdb_stored())
        text = msgspec.json.encode(msgspec.to_builtins(ledger) | FORGED[name]).decode()
        await scene.client.patch(BUDGETS, {"metadata": {"annotations": {LEDGER: text}}}, "b", NS)
        await scene.settle(130 if name == "absent since no time" else 3)
        assert groups.replicas() == (1, 2, 1, 2)
        [event] = await scene.events("LedgerRepaired")
        assert (event["involvedObject"]["name"], event["count"]) == ("b", 1)
        assert "ns/b: The ledger of this PodDisruptionBudget was repaired: " in caplog.text
        assert await scene.evict("red-0") == 200
        await groups.denial("blue-0")


@simulated
async def test_the_gate_waits_for_the_repair_of_a_ledger() -> None:
    async with holding() as (scene, groups):
        for group in ("red", "blue"):
            await groups.group(group)
        await groups.budget(maxUnavailable=1)
        scene.faults.hold_watches(lambda request: "poddisruptionbudgets" in request.path)
        ledger = ledger_of(scene.pdb_stored())
        forged = replace(ledger, absent={"green": "soon"})
        text = msgspec.json.encode(forged).decode()
        await scene.client.patch(BUDGETS, {"metadata": {"annotations": {LEDGER: text}}}, "b", NS)
        assert "its ledger states what cannot be" in await groups.denial("red-0")


@simulated
async def test_an_entry_of_disrupted_pods_of_the_future_ends_as_if_it_began_now() -> None:
    async with holding() as (scene, groups):
        await groups.group("red")
        await scene.pdb(annotations=BY_LABEL, maxUnavailable=1)
        # Once the budget has the label, nobody else can write this any more.
        await scene.set_status(disruptedPods={"red-0": "2400-01-01T00:00:00Z"})
        label = {"metadata": {"labels": {SCOPE_LABEL: "Workload"}}}
        await scene.client.patch(BUDGETS, label, "b", NS)
        await scene.settle(5)
        assert groups.replicas()[:2] == (0, 0)
        assert await scene.events("LedgerRepaired")
        await scene.settle(10)
        assert groups.replicas()[:2] == (1, 1)
        assert scene.pdb_status().disrupted_pods == {}
