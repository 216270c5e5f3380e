"""Evicting, holding, letting go and relabelling pods, against an API in memory."""

import random
from datetime import UTC, datetime

import msgspec
import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.kube.resources import PODS as POD_VIEWS
from intact.model.pod import Pod
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.pods.evictions import RbgEvictions, let_go
from intact.rollout.names import HELD, REVISION
from intact.rollout.orders import Eviction
from intact.sandbox import MemoryApi, Moment, Rule, wall_clock
from tests.support.objects import NAMESPACES, PODS, Json
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS, Wire


class Scene:
    """Three pods, `a`, `b` and `c`."""

    def __init__(self) -> None:
        self.api = MemoryApi(clock=wall_clock())
        self.wire = Wire(self.api)
        self.client = Client(self.wire, rng=random.Random(1))
        self.evicted = EvictedPods()
        self.evictions = RbgEvictions(self.client, self.evicted)

    async def open(self) -> "Scene":
        await self.client.create(NAMESPACES, {"metadata": {"name": NS}})
        for name in "abc":
            await self.client.create(PODS, {"metadata": {"name": name}}, NS)
        return self

    def refuse(self, *names: str, code: int = 429) -> None:
        async def review(request: Json) -> Json:
            if request["name"] not in names:
                return {"allowed": True}
            return {"allowed": False, "status": {"code": code, "message": "not now"}}

        self.api.admit("budget", review, [Rule(("pods/eviction",), ("CREATE",))])

    def pod(self, name: str) -> Pod:
        return msgspec.convert(self.api.peek(POD_VIEWS.full_name, NS, name), Pod)

    def eviction(self, name: str, role: str = "prefill", deployment: str = "") -> Eviction:
        return Eviction(self.pod(name), role, deployment)

    def there(self) -> dict[str, list[str]]:
        """The finalizers of the pods that are there."""
        return {
            one["metadata"]["name"]: one["metadata"].get("finalizers", [])
            for one in self.api.objects(POD_VIEWS.full_name, NS)
        }


@simulated
async def test_an_evicted_pod_is_held_until_it_is_let_go() -> None:
    scene = await Scene().open()
    assert await scene.evictions.evict([scene.eviction("a")], {"prefill"}) == {}
    assert scene.there() == {"a": [HELD], "b": [], "c": []}
    assert scene.pod("a").metadata.deletion_timestamp is not None
    await scene.evictions.let_go([scene.pod(name) for name in "abc"])
    assert scene.there().keys() == {"b", "c"}
    assert scene.evictions.writes == 3


@simulated
async def test_a_pod_that_its_budget_keeps_is_not_touched() -> None:
    scene = await Scene().open()
    scene.refuse("a")
    before = scene.pod("a").metadata.resource_version
    refusals = await scene.evictions.evict([scene.eviction("a")], {"prefill"})
    assert refusals["prefill"].startswith("a budget of pod a: ")
    assert "not now" in refusals["prefill"]
    assert scene.pod("a").metadata.resource_version == before


@simulated
async def test_after_a_refusal_the_role_waits_and_other_roles_go_on() -> None:
    scene = await Scene().open()
    scene.refuse("a", code=403)
    evictions = [scene.eviction("a"), scene.eviction("b"), scene.eviction("c", "decode")]
    refusals = await scene.evictions.evict(evictions, {"prefill", "decode"})
    assert refusals.keys() == {"prefill"}
    assert refusals["prefill"].startswith("the eviction of pod a: ")
    assert scene.there() == {"a": [], "b": [], "c": [HELD]}


@simulated
async def test_pods_of_a_role_that_was_not_applied_stay() -> None:
    scene = await Scene().open()
    assert await scene.evictions.evict([scene.eviction("a")], {"decode"}) == {}
    assert scene.wire.count("POST", "/eviction") == 0


@pytest.mark.parametrize(("refused", "remembered"), [(False, True), (True, False)])
@simulated
async def test_a_deployment_remembers_the_pods_that_went(refused: bool, remembered: bool) -> None:
    scene = await Scene().open()
    if refused:
        scene.refuse("a")
    eviction = scene.eviction("a", deployment="uid")
    await scene.evictions.evict([eviction], {"prefill"})
    pods = scene.evicted.by_deployment["uid"]
    assert (eviction.pod.metadata.uid in pods) is remembered
    assert ("a" in scene.there()) is refused, "it is not held: it comes back in any case"


@simulated
async def test_a_remembered_pod_stays_remembered_if_its_budget_refuses_it_later() -> None:
    scene = await Scene().open()
    eviction = scene.eviction("a", deployment="uid")
    scene.evicted.add("uid", eviction.pod.metadata.uid)
    scene.refuse("a")
    await scene.evictions.evict([eviction], {"prefill"})
    assert scene.evicted.by_deployment == {"uid": {eviction.pod.metadata.uid}}


@simulated
async def test_a_refused_label_holds_up_no_other() -> None:
    scene = await Scene().open()

    async def review(request: Json) -> Json:
        return {"allowed": request["name"] != "a", "status": {"code": 403}}

    scene.api.admit("policy", review, [Rule(("pods",), ("UPDATE",))])
    revisions = dict.fromkeys(("a", "gone", "b"), "new")
    [refusal] = await scene.evictions.relabel(NS, revisions)
    assert refusal.status.code == 403
    assert [scene.pod(name).metadata.labels.get(REVISION) for name in "ab"] == [None, "new"]


@simulated
async def test_a_pod_that_is_gone_needs_not_be_let_go() -> None:
    scene = await Scene().open()
    await scene.evictions.evict([scene.eviction("a")], {"prefill"})
    held = scene.pod("a")
    assert await let_go(scene.client, held)
    assert not await let_go(scene.client, held)


@simulated
async def test_a_pod_whose_name_another_one_has_is_left_alone() -> None:
    """The API server takes the UID in a patch for a change, and answers with 422."""
    scene = await Scene().open()
    old = scene.pod("a")
    await scene.client.delete(PODS, "a", NS, grace_period_seconds=0)
    await scene.client.create(PODS, {"metadata": {"name": "a", "finalizers": [HELD]}}, NS)
    assert not await let_go(scene.client, old)
    assert scene.there()["a"] == [HELD]
    replaced = scene.eviction("c")

    async def replace_pod(request: Json) -> Json:
        await scene.client.delete(PODS, "c", NS, grace_period_seconds=0)
        await scene.client.create(PODS, {"metadata": {"name": "c"}}, NS)
        return {"allowed": True}

    scene.api.admit("late", replace_pod, [Rule(("pods/eviction",), ("CREATE",))])
    assert await scene.evictions.evict([replaced], {"prefill"}) == {}
    assert scene.there()["c"] == []


@pytest.mark.parametrize(
    ("refused", "lost", "remembered"),
    [
        pytest.param(False, False, True, id="answered"),
        pytest.param(False, True, True, id="answer lost"),
        pytest.param(True, False, False, id="refused"),
    ],
)
@simulated
async def test_a_pod_of_a_stateful_set_is_remembered_once_it_may_be_going(
    refused: bool, lost: bool, remembered: bool
) -> None:
    scene = await Scene().open()
    eviction = scene.eviction("a")
    if refused:
        scene.refuse("a")
    if lost:  # after the dry run
        scene.api.faults.fail_next(
            lambda request: (
                request.path.endswith("/eviction") and HELD in scene.pod("a").metadata.finalizers
            ),
            Moment.AFTER,
        )
        with pytest.raises(Unreachable):
            await scene.evictions.evict([eviction], {"prefill"})
    else:
        await scene.evictions.evict([eviction], {"prefill"})
    found = scene.evicted.as_evicted([eviction.pod], datetime(2026, 1, 1, tzinfo=UTC))
    assert (found != [eviction.pod]) is remembered
    assert bool(scene.evicted.unanswered([eviction.pod])) is lost


@pytest.mark.parametrize("deployment", ["", "uid"])
@simulated
async def test_a_pod_that_was_seen_as_broken_stays_if_it_is_ready_by_now(deployment: str) -> None:
    scene = await Scene().open()
    eviction = scene.eviction("a", deployment=deployment)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await scene.client.patch(PODS, {"status": status}, "a", NS, subresource="status")
    assert await scene.evictions.evict([eviction], {"prefill"}) == {}
    assert scene.pod("a").metadata.deletion_timestamp is None
    assert scene.there()["a"] == []
    assert eviction.pod.metadata.uid not in scene.evicted.by_deployment.get("uid", ())
    assert not scene.evicted.unanswered([scene.pod("a")])


@pytest.mark.parametrize("deployment", ["", "uid"])
@simulated
async def test_a_ready_pod_goes_whatever_has_changed_of_it(deployment: str) -> None:
    scene = await Scene().open()
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await scene.client.patch(PODS, {"status": status}, "a", NS, subresource="status")
    eviction = scene.eviction("a", deployment=deployment)
    await scene.client.patch(PODS, {"metadata": {"labels": {"x": "y"}}}, "a", NS)
    assert await scene.evictions.evict([eviction], {"prefill"}) == {}
    assert "a" not in scene.there() or scene.pod("a").metadata.deletion_timestamp is not None


@pytest.mark.parametrize("deployment", ["", "uid"])
@simulated
async def test_an_eviction_that_is_asked_for_again_is_not_bound_to_what_was_seen(
    deployment: str,
) -> None:
    scene = await Scene().open()
    eviction = scene.eviction("a", deployment=deployment)
    if deployment:
        scene.evicted.add(deployment, eviction.pod.metadata.uid)
    else:
        scene.evicted.hold(eviction)
    await scene.client.patch(PODS, {"metadata": {"labels": {"x": "y"}}}, "a", NS)
    assert await scene.evictions.evict([eviction], {"prefill"}) == {}
    assert "a" not in scene.there() or scene.pod("a").metadata.deletion_timestamp is not None
