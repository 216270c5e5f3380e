"""The gate as clients meet it: what is asked about, what is answered, what is stored."""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from intact.kube.errors import ApiError
from intact.kube.resources import PODS as POD_VIEWS
from intact.kube.transport import Request
from intact.operator.pub.pin import PINNED
from intact.operator.webhook import denials
from intact.operator.webhook.denials import EVERY
from intact.operator.webhook.responses import DISRUPTION_BUDGET
from intact.sandbox import Moment, Rule
from tests.support.objects import PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import (
    BUDGETS,
    DEPLOYMENT,
    JOB,
    LWS,
    NS,
    REPLICA_SET,
    SHARD,
    STATEFUL_SET,
    Anything,
    Scene,
    running,
)
from tests.unit.operator.pub.test_index import A, B, lws

MARK = {"unavailable-pod.kruise.io/drain": "yes"}
SHARDS = {"groupLabelKey": "shard", "minReadyReplicas": 2}
ENFORCEMENT = "intact.dev/enforcement"
OPERATIONS = "kruise.io/pub-protect-operations"
TOTAL = "pub.kruise.io/protect-total-replicas"
NO_PROTECT = "pub.kruise.io/no-protect"


async def three(scene: Scene, **budget: Any) -> None:
    """Three pods under one budget."""
    await scene.workload(STATEFUL_SET, "p", 3, pods=3, labels=A)
    await scene.budget(**budget)
    await scene.settle()


async def replace(scene: Scene, name: str) -> None:
    """As a StatefulSet does: another pod under the same name."""
    owner = await scene.client.get(STATEFUL_SET, "p", NS)
    await scene.pod(name, labels=A, owner=owner)


def uid(scene: Scene, name: str) -> str:
    found: str = (scene.api.peek("pods", NS, name) or {})["metadata"]["uid"]
    return found


class TestDenial:
    @pytest.mark.parametrize("how", ["delete", "evict", "update"])
    @simulated
    async def test_a_denial_is_429_with_its_cause_and_says_why(self, how: str) -> None:
        async with running() as scene:
            await three(scene)
            assert await scene.delete("p-0") == 200
            client, patch = scene.client, {"metadata": {"labels": MARK}}
            ask: dict[str, Callable[[], Awaitable[object]]] = {
                "delete": lambda: client.delete(PODS, "p-1", NS),
                "evict": lambda: client.evict(POD_VIEWS, "p-1", NS),
                "update": lambda: client.patch(PODS, patch, "p-1", NS),
            }
            with pytest.raises(ApiError) as denied:
                await ask[how]()
            error = denied.value
            assert (error.code, error.reason) == (429, "TooManyRequests")
            assert [cause.reason for cause in error.causes] == [DISRUPTION_BUDGET]
            assert error.retry_after is None
            assert (
                "Pod p-1 cannot go now: 2 of 3 pods are available; the budget b requires 2."
                in str(error)
            )
            assert "It waits for pod p-0 to be replaced and ready." in str(error)

    @simulated
    async def test_a_denial_is_told_on_the_pod_and_on_the_budget_and_the_log_names_the_user(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            with caplog.at_level(logging.INFO, denials.__name__):
                assert [await scene.delete("p-0") for _ in range(3)] == [429] * 3
                await asyncio.sleep(EVERY + 1)
            await scene.settle()
            events = await scene.events("DisruptionDenied")
            assert {one["involvedObject"]["kind"]: one["count"] for one in events} == {
                "Pod": 3,
                "PodUnavailableBudget": 3,
            }
            assert all("the budget b requires 3" in one["message"] for one in events)
            first, repeats = [
                record.getMessage() for record in caplog.records if record.name == denials.__name__
            ]
            assert "requested by alice" in first
            assert repeats.endswith("(and 2 more times in the last minute)")

    @simulated
    async def test_a_gate_that_cannot_read_denies(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.faults.fail_randomly(
                1.0,
                Moment.BEFORE,
                lambda request: request.method == "GET" and request.path.endswith("/pods/p-0"),
            )
            assert await scene.evict("p-0") == 429
            scene.faults.heal()
            assert await scene.evict("p-0") == 200


class TestScaleBack:
    """A workload is scaled to zero and back, and its pods are asked for before it is counted."""

    @pytest.mark.parametrize(
        "resource", [STATEFUL_SET, DEPLOYMENT, SHARD, JOB], ids=lambda found: found.kind
    )
    @simulated
    async def test_pods_that_are_wanted_again_are_not_free(self, resource: Anything) -> None:
        async def want(pods: int) -> None:
            if resource is JOB:
                await scene.client.patch(JOB, {"spec": {"suspend": not pods}}, "p", NS)
            else:
                await scene.scale(resource, "p", pods)

        async with running(controllers=2) as scene:
            owner = await scene.workload(resource, "p", 4, labels=A, parallelism=4)
            if resource is DEPLOYMENT:
                owner = await scene.workload(REPLICA_SET, "rs", 4, owner=owner, labels=A)
            await scene.pods("a", "b", "c", "d", owner=owner, labels=A)
            await scene.budget()
            await want(0)
            await scene.settle()
            assert scene.numbers() == (4, 4, 0, 0)
            # Pods that only the last recount knows not to be wanted any more.
            await want(4)
            await asyncio.sleep(0.02)
            assert [await scene.delete(name) for name in "abcd"] == [429] * 4
            with pytest.raises(ApiError, match="still counting the pods of the budget b"):
                await scene.client.delete(PODS, "a", NS)
            await scene.settle()
            assert [await scene.delete(name) for name in "abcd"] == [200, 429, 429, 429]
            await want(0)
            await scene.settle()
            assert [await scene.delete(name) for name in "bcd"] == [200, 200, 200]


class TestWhatIsAskedAbout:
    """Of an update only what can make a pod unavailable."""

    cases: dict[str, tuple[Json, int]] = {  # noqa: RUF012
        "an image": ({"spec": {"containers": [{"name": "main", "image": "other:2"}]}}, 429),
        "the unavailable label": ({"metadata": {"labels": MARK}}, 429),
        "a shorter life": ({"spec": {"activeDeadlineSeconds": 5}}, 429),
        "another label": ({"metadata": {"labels": {"tier": "x"}}}, 200),
        "an annotation": ({"metadata": {"annotations": {"note": "x"}}}, 200),
        "a toleration": ({"spec": {"tolerations": [{"operator": "Exists"}]}}, 200),
        "an exemption and an image at once": (
            {
                "metadata": {"annotations": {NO_PROTECT: "true"}},
                "spec": {"containers": [{"name": "main", "image": "other:2"}]},
            },
            429,
        ),
        "a label that leads out of the budget and an image at once": (
            {
                "metadata": {"labels": B},
                "spec": {"containers": [{"name": "main", "image": "other:2"}]},
            },
            429,
        ),
    }

    @pytest.mark.parametrize("case", cases.values(), ids=cases)
    @simulated
    async def test_an_update_is_asked_about_if_it_can_make_a_pod_unavailable(
        self, case: tuple[Json, int]
    ) -> None:
        patch, code = case
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            assert await scene.update("p-0", patch) == code
            assert scene.status().ledger.pods == {}

    @simulated
    async def test_a_status_is_not_asked_about(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            await scene.set_ready("p-0", False)
            await scene.settle()
            assert scene.numbers() == (0, 2, 3, 3)

    @pytest.mark.parametrize(("policy", "code"), [("RestartContainer", 429), ("NotRequired", 200)])
    @pytest.mark.parametrize("subresource", ["resize", ""], ids=["1.32", "1.31"])
    @simulated
    async def test_a_resize_is_asked_about_if_it_restarts_a_container(
        self, policy: str, code: int, subresource: str
    ) -> None:
        """Before Kubernetes 1.32 a resize is an update of the pod itself."""
        async with running() as scene:
            container = {
                "name": "main",
                "image": "web:1",
                "resources": {"requests": {"cpu": "1"}},
                "resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy}],
            }
            body = {"metadata": {"name": "p", "labels": A}, "spec": {"containers": [container]}}
            await scene.client.create(PODS, body, NS)
            await scene.set_ready("p")
            await scene.budget(maxUnavailable=0)
            await scene.settle()
            bigger = container | {"resources": {"requests": {"cpu": "2"}}}
            patch = {"spec": {"containers": [bigger]}}
            assert await scene.update("p", patch, subresource=subresource) == code

    @simulated
    async def test_a_resize_may_be_protected_alone(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0, annotations={OPERATIONS: "RESIZE"})
            assert await scene.set_image("p-0", "web:2") == 200
            assert await scene.delete("p-1") == 200


PROTECTED = {
    "by default": ("", (429, 429, 429)),
    "DELETE": ("DELETE", (429, 200, 200)),
    "EVICT": ("EVICT", (200, 429, 200)),
    "UPDATE": ("UPDATE", (200, 200, 429)),
    "two": ("EVICT, UPDATE", (200, 429, 429)),
}


@pytest.mark.parametrize(("operations", "codes"), PROTECTED.values(), ids=PROTECTED)
@simulated
async def test_a_budget_protects_from_the_operations_that_it_names(
    operations: str, codes: tuple[int, int, int]
) -> None:
    async with running() as scene:
        await three(scene, maxUnavailable=0, annotations={OPERATIONS: operations})
        asked = (scene.delete("p-0"), scene.evict("p-1"), scene.set_image("p-2", "web:2"))
        assert tuple([await one for one in asked]) == codes


class TestFree:
    """What costs nothing."""

    @simulated
    async def test_a_pod_that_is_not_ready_is_free(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            await scene.set_ready("p-0", False)
            assert await scene.delete("p-0") == 200
            await scene.set_ready("p-1", False)
            assert await scene.evict("p-1") == 200
            assert await scene.delete("p-2") == 429

    @simulated
    async def test_a_pod_that_is_terminating_is_free(self) -> None:
        async with running() as scene:
            await three(scene)
            assert await scene.delete("p-0") == 200
            assert await scene.delete("p-0", grace_period_seconds=0) == 200
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_a_finished_pod_is_free_even_if_the_budget_was_never_counted(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            await scene.client.patch(
                PODS, {"status": {"phase": "Failed"}}, "p-0", NS, subresource="status"
            )
            scene.leader = -1
            await scene.client.patch(BUDGETS, {"spec": {"maxUnavailable": "0%"}}, "b", NS)
            await scene.settle()
            assert await scene.evict("p-0") == 200
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_an_exempt_pod_is_free_and_counts_all_the_same(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            await scene.update("p-0", {"metadata": {"annotations": {NO_PROTECT: "true"}}})
            await scene.settle()
            assert scene.numbers() == (0, 3, 3, 3)
            assert await scene.delete("p-0") == 200
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_an_ignored_pod_is_free_and_counts_all_the_same(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0, ignoredPodSelector={"matchLabels": {"t": "x"}})
            # What the change itself brings frees nothing.
            relabelled = {"labels": {"t": "x", "unavailable-pod.kruise.io/a": "b"}}
            assert await scene.update("p-0", {"metadata": relabelled}) == 429
            assert await scene.update("p-0", {"metadata": {"labels": {"t": "x"}}}) == 200
            await scene.settle()
            assert scene.numbers() == (0, 3, 3, 3)
            assert await scene.evict("p-0") == 200
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_a_pod_that_was_let_go_already_is_free(self) -> None:
        async with running() as scene:
            await three(scene)
            denier = scene.api.admit("other", deny, [Rule(("pods",), ("DELETE",))])
            assert await scene.delete("p-0") == 403
            assert scene.status().unavailable_allowed == 0
            assert await scene.delete("p-1") == 429
            scene.api.withdraw(denier)
            assert await scene.delete("p-0") == 200

    @simulated
    async def test_a_pod_that_no_budget_covers_is_free(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            await scene.pods("stranger", labels=B)
            assert await scene.delete("stranger") == 200
            assert await scene.set_image("p-0", "other:1") == 429


async def deny(_request: Json) -> Json:
    return {"allowed": False, "status": {"code": 403, "message": "no"}}


@simulated
async def test_a_pod_that_comes_back_under_its_name_is_another() -> None:
    async with running() as scene:
        await three(scene)
        assert await scene.delete("p-0", grace_period_seconds=0) == 200
        await replace(scene, "p-0")
        assert await scene.delete("p-0") == 429
        await scene.settle()
        assert scene.status().ledger.pods == {}
        assert await scene.delete("p-0") == 200


class TestStaleStore:
    """A store that is behind may deny too much, never allow too much."""

    @simulated
    async def test_an_eviction_of_a_new_pod_under_an_old_name_is_denied(self) -> None:
        """The store still has the pod before it, which is free to go."""
        async with running() as scene:
            await three(scene)
            assert await scene.delete("p-0") == 200
            await scene.settle()
            scene.faults.hold_watches(lambda request: request.path == "/api/v1/pods")
            await scene.finish("p-0")
            await replace(scene, "p-0")
            assert await scene.delete("p-1") == 429
            assert await scene.evict("p-0") == 429

    @simulated
    async def test_an_eviction_of_a_pod_that_has_turned_ready_is_denied(self) -> None:
        async with running() as scene:
            await three(scene)
            await scene.set_ready("p-0", False)
            await scene.settle()
            scene.faults.hold_watches(lambda request: request.path == "/api/v1/pods")
            await scene.set_ready("p-0")
            assert await scene.evict("p-0") == 429

    @simulated
    async def test_an_eviction_of_a_pod_that_is_too_new_for_the_store_is_denied(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            scene.faults.hold_watches()
            await scene.pods("p-3", labels=A)
            assert await scene.evict("p-3") == 429

    @simulated
    async def test_an_eviction_of_a_pod_that_does_not_exist_is_the_servers_to_answer(
        self,
    ) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            assert await scene.evict("nobody") == 404

    @simulated
    async def test_pods_that_have_failed_count_before_the_next_recount(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.leader = -1
            await scene.set_ready("p-0", False)
            await scene.settle()
            assert scene.status().unavailable_allowed == 1
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_surplus_that_has_failed_counts_before_the_next_recount(self) -> None:
        async with running() as scene:
            for name in ("s0", "s1"):
                await scene.pods(f"{name}-0", f"{name}-1", f"{name}-2", labels=A | {"shard": name})
            await scene.budget(maxUnavailable=0, podGroupPolicy=SHARDS)
            await scene.settle()
            scene.leader = -1
            await scene.set_ready("s0-0", False)
            await scene.settle()
            assert await scene.delete("s0-1") == 429
            assert await scene.delete("s1-1") == 200

    @pytest.mark.parametrize("hidden", ["replicasets", "apps/v1", ""])
    @simulated
    async def test_the_first_pods_of_a_workload_that_a_budget_names_are_held(
        self, hidden: str
    ) -> None:
        async with running() as scene:
            top = await scene.workload(DEPLOYMENT, "top", 2)
            await scene.budget(target=top, maxUnavailable=0)
            await scene.settle()
            scene.faults.hold_watches(lambda request: hidden in request.path)
            await scene.workload(REPLICA_SET, "rs", 2, owner=top, pods=2)
            assert await scene.delete("rs-0") == 429
            assert await scene.evict("rs-1") == 429

    @pytest.mark.parametrize("hidden", ["statefulsets", "pods", ""])
    @simulated
    async def test_the_first_workers_of_a_leader_worker_set_that_a_budget_names_are_held(
        self, hidden: str
    ) -> None:
        async with running() as scene:
            await scene.budget(
                target={
                    "apiVersion": LWS.api_version,
                    "kind": LWS.kind,
                    "metadata": {"name": "top"},
                },
                maxUnavailable=0,
            )
            await scene.settle()
            scene.faults.hold_watches(lambda request: hidden in request.path)
            await lws(scene, groups=1)
            assert await scene.delete("top-0-1") == 429
            assert await scene.delete("top-0") == 429

    @simulated
    async def test_a_record_that_was_cleared_meanwhile_lets_no_pod_go(self) -> None:
        """An update is over and its unit given to another; one gate has heard of neither."""
        async with running(controllers=2) as scene:
            await three(scene)
            await scene.run_container("p-0", "registry.example/main:1", "c1")
            await scene.settle()
            assert await scene.set_image("p-0", "web:2") == 200
            await scene.settle(1)
            late = scene.controllers[1]
            entry = late.index.entries[NS, "b"]
            assert entry.budget.status.ledger.pods.keys() == {uid(scene, "p-0")}
            frozen = entry.budget
            await scene.run_container("p-0", "web:2", "c2")
            await scene.settle(2)
            assert scene.status().ledger.pods == {}
            request = {"uid": "r", "operation": "DELETE", "namespace": NS}
            delete_1 = request | {"name": "p-1", "oldObject": scene.api.peek("pods", NS, "p-1")}
            assert (await scene.review(delete_1, scene.controller))["allowed"]
            entry.budget = frozen
            delete_0 = request | {"name": "p-0", "oldObject": scene.api.peek("pods", NS, "p-0")}
            assert not (await scene.review(delete_0, late))["allowed"]

    @simulated
    async def test_a_recorded_pod_may_change_again_while_it_restarts(self) -> None:
        """The kubelet reports all the while: another version of the pod is no reason to wait."""
        async with running() as scene:
            await three(scene)
            await scene.run_container("p-0", "registry.example/main:1", "c1")
            await scene.settle()
            assert await scene.set_image("p-0", "web:2") == 200
            await scene.set_ready("p-0", False)
            old = scene.api.peek("pods", NS, "p-0") or {}
            await scene.set_ready("p-0", False, message="pulling")
            main = {"name": "main", "image": "web:3"}
            request = {
                "uid": "r",
                "operation": "UPDATE",
                "namespace": NS,
                "name": "p-0",
                "oldObject": old,
                "object": old | {"spec": old["spec"] | {"containers": [main]}},
            }
            assert (await scene.review(request, scene.controller))["allowed"]

    @simulated
    async def test_an_unreadable_ledger_allows_nothing_until_a_recount_makes_it_anew(self) -> None:
        async with running() as scene:
            await three(scene)
            body = {"status": {"ledger": "{"}}
            await scene.client.patch(BUDGETS, body, "b", NS, subresource="status")
            assert await scene.delete("p-0") == 429
            await scene.settle()
            assert await scene.delete("p-0") == 200
            assert await scene.delete("p-1") == 429

    @simulated
    async def test_pods_whose_owner_wants_them_again_are_held(self) -> None:
        """One gate still believes that they are free to go."""
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            await scene.scale(STATEFUL_SET, "p", 0)
            await scene.settle()
            entry = scene.controller.index.entries[NS, "b"]
            frozen = entry.budget
            await scene.scale(STATEFUL_SET, "p", 3)
            await scene.settle()
            entry.budget = frozen
            assert await scene.delete("p-0") == 429


class TestDryRun:
    """It decides, and stores nothing."""

    @pytest.mark.parametrize(
        "how", ["delete", "evict", "evict, in the body", "evict, in the query"]
    )
    @pytest.mark.parametrize(("allowed", "code"), [(1, 200), (0, 429)])
    @simulated
    async def test_a_dry_run_in_every_form_stores_nothing(
        self, how: str, allowed: int, code: int
    ) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=allowed)
            version = scene.stored().metadata.resource_version
            match how:
                case "delete":
                    answer = await scene.delete("p-0", dry_run=True)
                case "evict":
                    answer = await scene.evict("p-0", dry_run=True)
                case "evict, in the body":
                    answer = await self.evict(scene, {"deleteOptions": {"dryRun": ["All"]}})
                case _:
                    answer = await self.evict(scene, {}, dry_run=True)
            assert answer == code
            await scene.settle()
            assert scene.stored().metadata.resource_version == version
            assert len(scene.names()) == 3
            assert await scene.events("DisruptionDenied") == []

    async def evict(self, scene: Scene, body: Json, **more: Any) -> int:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p-0"}}
        try:
            await scene.client.create_subresource(
                PODS, "p-0", NS, "eviction", eviction | body, **more
            )
        except ApiError as error:
            return error.code
        return 200

    @simulated
    async def test_a_dry_run_of_an_update_stores_nothing(self) -> None:
        async with running() as scene:
            await three(scene)
            version = scene.stored().metadata.resource_version
            patch = {"metadata": {"labels": MARK}}
            assert await scene.update("p-0", patch, dry_run=True) == 200
            assert scene.stored().metadata.resource_version == version


class TestEnforcement:
    @simulated
    async def test_a_budget_that_warns_lets_the_pod_go_with_a_warning(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0, annotations={ENFORCEMENT: "Warn"})
            assert await scene.delete("p-0") == 200
            assert len(scene.warnings) == 1
            assert "Pod p-0 cannot go now: 3 of 3 pods are available" in scene.warnings[0]
            await scene.settle()
            assert len(await scene.events("DisruptionWouldBeDenied")) == 2

    @simulated
    async def test_a_budget_that_audits_lets_the_pod_go_with_an_event(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0, annotations={ENFORCEMENT: "Audit"})
            assert await scene.delete("p-0") == 200
            assert scene.warnings == []
            await scene.settle()
            assert len(await scene.events("DisruptionWouldBeDenied")) == 2

    @simulated
    async def test_a_budget_that_warns_records_what_it_allows(self) -> None:
        for mode in ("Warn", "Audit"):
            async with running() as scene:
                await three(scene, annotations={ENFORCEMENT: mode})
                scene.faults.hold_watches()
                assert await scene.delete("p-0") == 200
                assert scene.status().ledger.pods.keys() == {uid(scene, "p-0")}
                assert scene.warnings == []

    @simulated
    async def test_a_budget_that_enforces_denies_beside_one_that_warns(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0, annotations={ENFORCEMENT: "Warn"})
            await scene.pods("q", labels=A | {"backend": "true"})
            await scene.budget("strict", select={"backend": "true"}, maxUnavailable=0)
            await scene.settle()
            assert await scene.delete("q") == 429
            assert await scene.delete("p-0") == 200


class TestTwoBudgets:
    """A pod that two budgets cover goes only if both allow it."""

    async def scene(self, scene: Scene, app: int, backend: int) -> None:
        await scene.pods("both", labels={"app": "a", "backend": "true"})
        await scene.pods("p0", "p1", labels=A)
        await scene.pods("q0", "q1", labels={"backend": "true"})
        await scene.budget("for-app", maxUnavailable=app)
        await scene.budget("for-backend", select={"backend": "true"}, maxUnavailable=backend)
        await scene.settle()

    @simulated
    async def test_two_budgets_that_allow_are_both_spent(self) -> None:
        async with running() as scene:
            await self.scene(scene, 1, 1)
            assert await scene.delete("both") == 200
            assert await scene.delete("p0") == 429
            assert await scene.delete("q0") == 429

    @pytest.mark.parametrize(("app", "backend"), [(0, 1), (1, 0)])
    @simulated
    async def test_a_denial_of_one_budget_spends_no_other(self, app: int, backend: int) -> None:
        async with running() as scene:
            await self.scene(scene, app, backend)
            assert await scene.delete("both") == 429
            for name, allowed in (("for-app", app), ("for-backend", backend)):
                assert scene.status(name).unavailable_allowed == allowed
                assert scene.status(name).ledger.pods == {}


class TestNotCountedYet:
    """A budget that was not counted for its present rules denies."""

    @simulated
    async def test_a_new_budget_denies_until_it_is_counted(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=3)
            scene.leader = -1
            await scene.budget("new", select=A, maxUnavailable=3)
            await scene.settle()
            with pytest.raises(ApiError, match="still counting the pods of the budget new"):
                await scene.client.delete(PODS, "p-0", NS)

    @simulated
    async def test_a_changed_budget_denies_until_it_is_counted_again(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=3)
            scene.leader = -1
            await scene.client.patch(BUDGETS, {"spec": {"maxUnavailable": 2}}, "b", NS)
            await scene.settle()
            assert await scene.delete("p-0") == 429
            scene.leader = 0
            scene.controller.recounts.add((NS, "b"))
            await scene.settle()
            assert await scene.delete("p-0") == 200


class TestInPlaceUpdate:
    @simulated
    async def test_an_updated_pod_counts_as_unavailable_until_its_new_image_is_ready(self) -> None:
        async with running() as scene:
            await three(scene)
            for name in ("p-0", "p-1"):
                await scene.run_container(name, "registry.example/main:1", f"{name}-a")
            await scene.settle()
            assert await scene.set_image("p-0", "registry.example/main:2") == 200
            # The old container drains for minutes, and is ready all the while.
            for _ in range(5):
                await scene.settle(60)
                assert scene.numbers() == (0, 2, 2, 3)
                assert await scene.set_image("p-1", "registry.example/main:2") == 429
            assert scene.status().unavailable_pods.keys() == {"p-0"}
            await scene.set_ready("p-0", False)
            await scene.settle()
            assert scene.numbers() == (0, 2, 2, 3)
            await scene.run_container("p-0", "registry.example/main:2", "p-0-b")
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            assert await scene.set_image("p-1", "registry.example/main:2") == 200

    @simulated
    async def test_an_update_to_an_image_by_digest_is_seen_to_end(self) -> None:
        async with running() as scene:
            await three(scene)
            old, new = ("registry.example/main@sha256:" + digit * 64 for digit in "12")
            await scene.run_container("p-0", "sha256:" + "a" * 64, "p-0-a")
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            assert old != new
            assert await scene.set_image("p-0", new) == 200
            await scene.settle(60)
            assert scene.numbers() == (0, 2, 2, 3)
            await scene.run_container("p-0", "sha256:" + "b" * 64, "p-0-b")
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_an_update_that_another_webhook_denies_gives_its_unit_back(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.api.admit("other", deny, [Rule(("pods",), ("UPDATE",))])
            assert await scene.set_image("p-0", "web:2") == 403
            await scene.settle()
            assert scene.status().unavailable_allowed == 0
            await scene.settle(31)
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_the_unavailable_label_costs_a_unit_until_it_is_removed(self) -> None:
        async with running() as scene:
            await three(scene)
            assert await scene.update("p-0", {"metadata": {"labels": MARK}}) == 200
            await scene.settle()
            assert scene.numbers() == (0, 2, 2, 3)
            assert scene.status().ledger.pods == {}
            assert await scene.update("p-1", {"metadata": {"labels": MARK}}) == 429
            assert await scene.delete("p-0") == 200
            await scene.finish("p-0")
            await replace(scene, "p-0")
            await scene.settle()
            assert await scene.update("p-1", {"metadata": {"labels": MARK}}) == 200
            await scene.settle()
            without = {"metadata": {"labels": dict.fromkeys(MARK)}}
            assert await scene.update("p-1", without) == 200
            await scene.settle()
            assert scene.numbers()[:2] == (1, 3)


class TestGroups:
    async def shards(self, scene: Scene, **budget: Any) -> None:
        for shard in ("s0", "s1", "s2"):
            labels = A | {"shard": shard}
            await scene.workload(STATEFUL_SET, shard, 3, pods=3, labels=labels)
        await scene.budget(podGroupPolicy=SHARDS | {"minReadyReplicas": 3}, **budget)
        await scene.settle()

    @simulated
    async def test_one_group_goes_at_a_time_and_all_of_it(self) -> None:
        async with running() as scene:
            await self.shards(scene)
            assert [await scene.evict(f"s0-{number}") for number in range(2)] == [200, 200]
            with pytest.raises(ApiError, match=r"of group 's1' cannot go now.*waits for group s0"):
                await scene.client.evict(POD_VIEWS, "s1-0", NS)
            await scene.settle()
            assert await scene.evict("s0-2") == 200
            assert await scene.evict("s2-1") == 429
            assert scene.numbers() == (0, 2, 2, 3)

    @simulated
    async def test_both_amounts_hold_for_groups(self) -> None:
        async with running() as scene:
            await self.shards(scene, maxUnavailable=3, minAvailable=2)
            assert await scene.evict("s0-0") == 200
            assert await scene.evict("s1-0") == 429

    @simulated
    async def test_a_drain_of_all_ends_with_never_two_groups_down(self) -> None:
        async with running(controllers=2) as scene:
            await self.shards(scene)
            scene.faults.delay_watches(0, 0.5)

            async def kubelet_and_controller() -> None:
                while True:
                    for pod in list(scene.api.objects("pods", NS)):
                        name = pod["metadata"]["name"]
                        if "deletionTimestamp" in pod["metadata"]:
                            await scene.finish(name)
                            owner = await scene.client.get(STATEFUL_SET, name[:2], NS)
                            labels = pod["metadata"]["labels"]
                            await scene.pod(name, owner=owner, labels=labels)
                    await asyncio.sleep(1)

            def down() -> int:
                whole = {"s0": 0, "s1": 0, "s2": 0}
                for pod in scene.api.objects("pods", NS):
                    conditions = pod["status"].get("conditions", [])
                    ready = {"type": "Ready", "status": "True"} in conditions
                    if ready and "deletionTimestamp" not in pod["metadata"]:
                        whole[pod["metadata"]["labels"]["shard"]] += 1
                return sum(count < 3 for count in whole.values())

            async def drain(name: str) -> None:
                while await scene.evict(name) != 200:
                    assert down() <= 1
                    await asyncio.sleep(5)
                assert down() <= 1

            replacing = asyncio.create_task(kubelet_and_controller())
            first = {name: uid(scene, name) for name in scene.names()}
            async with asyncio.timeout(600):
                await asyncio.gather(*map(drain, sorted(first)))
                await scene.settle(10)
            replacing.cancel()
            assert all(uid(scene, name) != before for name, before in first.items())
            assert down() == 0


@simulated
async def test_each_decision_is_observed() -> None:
    async with running() as scene:
        told: list[tuple[str, str, str, bool, str]] = []
        scene.controller.gate._observe = lambda asked, entry, decision, _mode: told.append(
            (
                asked.user,
                asked.operation.value,
                entry.budget.metadata.name,
                decision.allowed,
                decision.reason.value,
            )
        )
        await three(scene)
        await scene.delete("p-0")
        await scene.evict("p-1")
        await scene.evict("p-1", dry_run=True)
        assert told == [
            ("alice", "DELETE", "b", True, "Budget"),
            ("alice", "EVICT", "b", False, "BudgetExhausted"),
            ("alice", "EVICT", "b", False, "BudgetExhausted"),
        ]


NAMED = f"PodUnavailableBudget/{NS}/b"


class TestAudit:
    """Every answer says for the audit log what was decided, by which budget and why."""

    @pytest.mark.parametrize("how", ["delete", "evict", "update", "resize"])
    @simulated
    async def test_a_denial_of_each_operation(
        self, how: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, denials.__name__)
        async with running() as scene:
            container = {
                "name": "main",
                "image": "web:1",
                "resources": {"requests": {"cpu": "1"}},
                "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
            }
            for name in ("s0-0", "s0-1"):
                meta = {"name": name, "labels": A | {"shard": "s0"}}
                body = {"metadata": meta, "spec": {"containers": [container]}}
                await scene.client.create(PODS, body, NS)
                await scene.set_ready(name)
            await scene.budget(maxUnavailable=0, podGroupPolicy=SHARDS)
            await scene.settle()
            bigger = container | {"resources": {"requests": {"cpu": "2"}}}
            resize = {"spec": {"containers": [bigger]}}
            ask: dict[str, Callable[[], Awaitable[int]]] = {
                "delete": lambda: scene.delete("s0-0"),
                "evict": lambda: scene.evict("s0-0"),
                "update": lambda: scene.set_image("s0-0", "web:2"),
                "resize": lambda: scene.update("s0-0", resize, subresource="resize"),
            }
            assert await ask[how]() == 429
            assert scene.audited[-1] == {
                "decision": "denied",
                "budget": NAMED,
                "reason": "BudgetExhausted",
                "group": "s0",
            }
            told = [record for record in caplog.records if record.name == denials.__name__]
            assert [record.fields["group"] for record in told] == ["s0"]  # type: ignore[attr-defined]

    @simulated
    async def test_an_allowance_names_all_budgets(self) -> None:
        async with running() as scene:
            await three(scene)
            await scene.budget("c", maxUnavailable=2)
            await scene.settle()
            assert await scene.delete("p-0") == 200
            assert scene.audited[-1] == {
                "decision": "allowed",
                "budget": f"{NAMED}, PodUnavailableBudget/{NS}/c",
                "reason": "Budget",
            }

    @pytest.mark.parametrize("mode", ["Warn", "Audit"])
    @simulated
    async def test_what_would_be_denied(self, mode: str) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0, annotations={ENFORCEMENT: mode})
            await scene.budget("c", maxUnavailable=2)
            await scene.settle()
            assert await scene.delete("p-0") == 200
            assert scene.audited[-1] == {
                "decision": "would-deny",
                "budget": NAMED,
                "reason": "BudgetExhausted",
            }

    @simulated
    async def test_a_change_that_no_budget_is_asked_about(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            assert await scene.update("p-0", {"metadata": {"labels": {"tier": "x"}}}) == 200
            assert scene.audited[-1] == {"decision": "allowed"}

    @simulated
    async def test_what_cannot_be_decided_and_what_is_not_there(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.faults.fail_randomly(
                1.0,
                Moment.BEFORE,
                lambda request: request.method == "GET" and request.path.endswith("/pods/p-0"),
            )
            eviction: Json = {"deleteOptions": {"preconditions": {"uid": uid(scene, "p-0")}}}
            request: Json = {"uid": "u", "subResource": "eviction", "namespace": NS, "name": "p-0"}
            await scene.review(request | {"object": eviction})
            assert scene.audited[-1] == {"decision": "denied", "reason": "Undecided"}
            scene.faults.heal()
            assert await scene.evict("nobody") == 404
            assert scene.audited[-1] == {"decision": "denied", "reason": "NotFound"}


class TestSettings:
    """Annotations have no generation: an edit must count from the moment when it is stored."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ({OPERATIONS: "EVICT"}, {OPERATIONS: "EVICT,DELETE"}),
            ({ENFORCEMENT: "Warn"}, {ENFORCEMENT: "Enforce"}),
            ({ENFORCEMENT: "Audit"}, {ENFORCEMENT: None}),
            ({TOTAL: "3"}, {TOTAL: "9"}),
            ({TOTAL: "3"}, {TOTAL: "9", OPERATIONS: "DELETE"}),
        ],
        ids=str,
    )
    @simulated
    async def test_an_edit_that_no_store_has_seen_counts(
        self, before: dict[str, str], after: dict[str, str | None]
    ) -> None:
        async with running(controllers=2) as scene:
            await three(scene, maxUnavailable=1 if TOTAL in before else 0, annotations=before)
            scene.faults.hold_watches()
            change = {"metadata": {"annotations": after}}
            await scene.client.patch(BUDGETS, change, "b", NS)
            for name in ("p-0", "p-1", "p-2"):
                assert await scene.delete(name) == 429
            scene.faults.release_watches()
            await scene.settle()
            assert await scene.delete("p-0") == 429

    @simulated
    async def test_an_edit_is_counted_before_anything_is_allowed_again(self) -> None:
        async with running() as scene:
            await three(scene, annotations={TOTAL: "9"})
            assert scene.numbers() == (0, 3, 8, 9)
            await scene.client.patch(BUDGETS, {"metadata": {"annotations": {TOTAL: None}}}, "b", NS)
            await scene.settle()
            assert scene.numbers() == (1, 3, 2, 3)
            assert await scene.delete("p-0") == 200
            assert await scene.delete("p-1") == 429


class TestForgedReviews:
    """Whoever reaches the port may send a review."""

    async def forge(self, scene: Scene, name: str, **changes: Any) -> Json:
        pod = scene.api.peek("pods", NS, "p-0") or {}
        meta = pod["metadata"] | {"name": name} | changes
        request = {"uid": "u", "operation": "DELETE", "namespace": NS, "name": name}
        return await scene.review(request | {"oldObject": pod | {"metadata": meta}})

    @simulated
    async def test_a_pod_that_the_api_does_not_have_is_not_recorded(self) -> None:
        async with running() as scene:
            await three(scene)
            await self.forge(scene, "unknown", uid="unknown")
            await self.forge(scene, "p-0", uid="another", resourceVersion="999999999999999")
            assert scene.status().ledger.pods == {}

    @pytest.mark.parametrize("version", ["999999999999999", "abc", ""])
    @simulated
    async def test_a_version_that_the_api_has_not_reached_spends_nothing(
        self, version: str
    ) -> None:
        async with running() as scene:
            await three(scene)
            answer = await self.forge(scene, "p-0", resourceVersion=version)
            assert (answer["allowed"], answer["status"]["code"]) == (False, 429)
            assert scene.status().ledger.pods == {}
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_what_is_recorded_of_a_pod_is_what_the_api_has(self) -> None:
        async with running() as scene:
            await three(scene)
            await self.forge(scene, "p-0", resourceVersion="1")
            [record] = scene.status().ledger.pods.values()
            true = (scene.api.peek("pods", NS, "p-0") or {})["metadata"]["resourceVersion"]
            assert record.resource_version == true
            await scene.settle(31)
            assert scene.numbers() == (1, 3, 2, 3)

    @simulated
    async def test_a_review_cannot_exempt_a_pod_or_take_its_labels(self) -> None:
        async with running() as scene:
            await three(scene, maxUnavailable=0)
            lies: list[Json] = [{"labels": {}}, {"annotations": {NO_PROTECT: "true"}}]
            for changes in lies:
                assert not (await self.forge(scene, "p-0", **changes))["allowed"]

    @simulated
    async def test_the_image_of_an_update_cannot_fill_the_ledger(self) -> None:
        async with running() as scene:
            await three(scene)
            pod = scene.api.peek("pods", NS, "p-0") or {}
            image = {"name": "main", "image": "x" * 10_000}
            request = {"uid": "u", "operation": "UPDATE", "namespace": NS, "name": "p-0"}
            objects = {"oldObject": pod, "object": pod | {"spec": {"containers": [image]}}}
            assert not (await scene.review(request | objects))["allowed"]
            assert scene.status().ledger.pods == {}


class TestSlowEvictions:
    @simulated
    async def test_an_eviction_may_take_its_time(self) -> None:
        async with running() as scene:
            await three(scene)
            scene.wires[0].delay = lambda request: 4.0 if request.method == "PUT" else 0.0
            assert await scene.evict("p-0") == 200
            assert scene.names() == {"p-1", "p-2"}

    @simulated
    async def test_a_pod_that_was_replaced_meanwhile_stays_and_the_evictor_tries_again(
        self,
    ) -> None:
        async with running() as scene:
            await three(scene)
            scene.wires[0].delay = lambda request: 4.0 if request.method == "PUT" else 0.0
            eviction = asyncio.create_task(scene.evict("p-0"))
            await asyncio.sleep(2)
            assert scene.hook is not None
            scene.api.withdraw(scene.hook)
            await scene.client.delete(PODS, "p-0", NS)
            await scene.finish("p-0")
            await replace(scene, "p-0")
            assert await eviction == 429
            assert scene.names() == {"p-0", "p-1", "p-2"}

    @pytest.mark.parametrize(("annotations", "code"), [({PINNED: "true"}, 429), ({}, 409)])
    @simulated
    async def test_only_an_evictor_that_named_a_uid_meets_a_conflict(
        self, annotations: dict[str, str], code: int
    ) -> None:
        async with running() as scene:
            await three(scene)
            body = {
                "metadata": {"name": "p-0", "annotations": annotations},
                "deleteOptions": {"preconditions": {"uid": "another"}},
            }
            path = f"/api/v1/namespaces/{NS}/pods/p-0/eviction"
            answer = await scene.api.send(Request("POST", path, {}, msgspec.json.encode(body)))
            assert answer.status == code

    @pytest.mark.parametrize(("annotations", "allowed"), [({PINNED: "true"}, False), ({}, True)])
    @simulated
    async def test_a_pod_that_does_not_exist_is_not_found_by_the_gate_itself(
        self, annotations: dict[str, str], allowed: bool
    ) -> None:
        """Allowed, one that comes in the next moment would be a conflict for an evictor that has
        named no UID."""
        async with running() as scene:
            await three(scene)
            eviction = {
                "metadata": {"name": "gone", "annotations": annotations},
                "deleteOptions": {"preconditions": {"uid": "another"}},
            }
            request = {"uid": "u", "operation": "CREATE", "namespace": NS, "name": "gone"}
            answer = await scene.review(request | {"subResource": "eviction", "object": eviction})
            assert answer["allowed"] == allowed
            if not allowed:
                status = answer["status"]
                assert (status["code"], status["reason"]) == (404, "NotFound")
                assert status["message"] == 'pods "gone" not found'

    @simulated
    async def test_an_eviction_that_lost_its_uid_is_denied(self) -> None:
        async with running() as scene:
            await three(scene)

            async def strip(_request: Json) -> Json:
                patch = [{"op": "remove", "path": "/deleteOptions/preconditions"}]
                text = base64.b64encode(msgspec.json.encode(patch)).decode()
                return {"allowed": True, "patch": text, "patchType": "JSONPatch"}

            rules = [Rule(("pods/eviction",), ("CREATE",))]
            scene.api.admit("strip", strip, rules, mutating=True)
            with pytest.raises(ApiError, match="has no UID of a pod"):
                await scene.client.evict(POD_VIEWS, "p-0", NS)
            assert scene.status().ledger.pods == {}
