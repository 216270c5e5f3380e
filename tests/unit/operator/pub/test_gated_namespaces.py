"""Which namespaces are gated: by a label, and only once the API server really asks."""

import pytest

from intact.budget.selector_text import parse_selector
from intact.operator.webhook.configuration import GATED_LABEL
from intact.sandbox import Moment
from tests.support.objects import NAMESPACES, PDBS
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, Scene, running
from tests.unit.operator.pub.test_index import A


def label(scene: Scene, namespace: str = NS) -> str | None:
    found = scene.api.peek("namespaces", "", namespace) or {}
    value: str | None = found["metadata"].get("labels", {}).get(GATED_LABEL)
    return value


@simulated
async def test_the_label_comes_with_the_first_budget_and_goes_with_the_last() -> None:
    async with running() as scene:
        await scene.settle()
        assert label(scene) is None
        await scene.budget("one")
        await scene.budget("two", select={"app": "b"})
        await scene.settle()
        assert label(scene) == "true"
        await scene.client.delete(BUDGETS, "one", NS)
        await scene.settle()
        assert label(scene) == "true"
        await scene.client.delete(BUDGETS, "two", NS)
        await scene.settle()
        assert label(scene) is None
        assert label(scene, "default") is None


@simulated
async def test_a_label_that_a_user_removes_comes_back() -> None:
    async with running() as scene:
        await scene.budget()
        await scene.settle()
        for value in (None, "no"):
            patch = {"metadata": {"labels": {GATED_LABEL: value}}}
            await scene.client.patch(NAMESPACES, patch, NS)
            await scene.settle()
            assert label(scene) == "true"


@simulated
async def test_a_label_where_there_is_no_budget_goes() -> None:
    async with running() as scene:
        await scene.client.patch(NAMESPACES, {"metadata": {"labels": {GATED_LABEL: "true"}}}, NS)
        await scene.settle()
        assert label(scene) is None


@simulated
async def test_a_budget_of_a_namespace_that_is_not_selected_says_that_it_holds_nothing() -> None:
    async with running(selected=parse_selector("env=prod")) as scene:
        await scene.pods("p0", "p1", labels=A)
        await scene.budget()
        await scene.settle(20)
        assert label(scene) is None
        [working] = scene.stored().status.conditions
        assert (working.status, working.reason) == ("False", "NotSelected")
        assert scene.status().observed_generation == 1
        for value, reason, gated in (("prod", "Gated", "true"), ("test", "NotSelected", None)):
            await scene.client.patch(NAMESPACES, {"metadata": {"labels": {"env": value}}}, NS)
            await scene.settle(20)
            assert label(scene) == gated
            assert scene.stored().status.conditions[0].reason == reason


@simulated
async def test_a_budget_of_an_exempt_namespace_says_that_it_holds_nothing() -> None:
    async with running() as scene:
        spec = {"selector": {"matchLabels": A}, "maxUnavailable": 1}
        body = {"apiVersion": BUDGETS.api_version, "kind": BUDGETS.kind, "spec": spec}
        body["metadata"] = {"name": "dns"}
        await scene.client.create(BUDGETS, body, "kube-system")
        await scene.settle(100)
        found = scene.api.peek(BUDGETS.full_name, "kube-system", "dns")
        assert found is not None
        [working] = found["status"]["conditions"]
        assert (working["status"], working["reason"]) == ("False", "NotSelected")
        assert "Intact holds no pods of kube-system" in working["message"]
        assert found["status"]["observedGeneration"] == 1
        # It would never find anything out.
        assert scene.wires[0].count("POST", "/namespaces/kube-system/") == 0
        assert label(scene, "kube-system") is None


@pytest.mark.parametrize("probe_exists", [False, True])
@simulated
async def test_a_budget_does_not_work_before_the_api_server_asks(probe_exists: bool) -> None:
    async with running(gate=False) as scene:
        if probe_exists:
            await scene.pods("intact-probe")
        await scene.pods("p0", "p1", labels=A)
        await scene.budget()
        await scene.settle(20)
        assert scene.condition("Working") == "False"
        assert scene.stored().status.conditions[0].reason == "NotGated"
        assert not scene.controller.gating.is_gated(NS)
        # Not ten times a second for as long as that lasts, as in Intact's own namespace.
        asked = scene.wires[0].count("POST", "intact-probe/eviction")
        await scene.settle(100)
        assert 15 <= scene.wires[0].count("POST", "intact-probe/eviction") - asked <= 25
        scene.register_gate()
        await scene.settle(20)
        assert scene.condition("Working") == "True"
        assert scene.numbers() == (1, 2, 1, 2)
        assert scene.status().observed_generation == 1


@simulated
async def test_a_denial_that_is_not_the_gates_own_does_not_count() -> None:
    async with running(gate=False) as scene:
        await scene.pods("intact-probe", labels=A)
        spec = {"selector": {"matchLabels": A}, "maxUnavailable": 0}
        await scene.make(PDBS, "strict", spec=spec)
        await scene.budget()
        await scene.settle(20)
        assert await scene.evict("intact-probe") == 429
        assert scene.condition("Working") == "False"


@simulated
async def test_the_probe_takes_nothing_and_is_repeated() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", labels=A)
        await scene.budget()
        await scene.settle()
        before = scene.wires[0].count("POST", "intact-probe/eviction")
        version = scene.stored().metadata.resource_version
        await scene.settle(600)
        asked = scene.wires[0].count("POST", "intact-probe/eviction") - before
        assert 8 <= asked <= 12
        assert scene.stored().metadata.resource_version == version


@simulated
async def test_a_gate_that_is_lost_is_noticed() -> None:
    async with running() as scene:
        await scene.pods("p0", "p1", labels=A)
        await scene.budget()
        await scene.settle()
        assert scene.hook is not None
        scene.api.withdraw(scene.hook)
        await scene.settle(100)
        assert scene.condition("Working") == "False"
        scene.register_gate()
        await scene.settle(100)
        assert scene.condition("Working") == "True"


@simulated
async def test_a_label_that_cannot_be_written_is_tried_again() -> None:
    async with running() as scene:
        scene.faults.fail_randomly(
            1.0, Moment.BEFORE, lambda request: request.method == "PATCH" and NS in request.path
        )
        await scene.budget()
        await scene.settle()
        assert label(scene) is None
        scene.faults.heal()
        await scene.settle(30)
        assert label(scene) == "true"


@simulated
async def test_a_namespace_that_ends_is_left_alone() -> None:
    async with running() as scene:
        await scene.pods("p0", labels=A)
        await scene.budget()
        await scene.settle()
        await scene.client.delete(NAMESPACES, NS)
        await scene.settle()
        written = scene.wires[0].count("PATCH", f"/namespaces/{NS}")
        await scene.settle(200)
        assert scene.wires[0].count("PATCH", f"/namespaces/{NS}") == written
