"""A drain asks as kubectl asks, and gives up where kubectl gives up."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.sandbox import MemoryApi, run
from intact.sandbox.kubectl_drain import Options, Step, What, cordon, drain
from tests.support.objects import NAMESPACES, NODES, PDBS, PODS, Json, pod

NODE = "n"
SPACE = "here"
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "name": "s",
    "uid": "1",
    "controller": True,
}
DAEMON = {**OWNER, "kind": "DaemonSet", "name": "d"}


class Drain:
    """One node, what a drain of it reports, and when."""

    def __init__(self) -> None:
        self.api = MemoryApi()
        self.client = Client(self.api)
        self.steps: list[tuple[float, Step]] = []

    async def set_up(self) -> None:
        await self.client.create(NODES, {"metadata": {"name": NODE}})
        await self.client.create(NAMESPACES, {"metadata": {"name": SPACE}})

    async def add(self, name: str, owner: Json | None = OWNER, **metadata: Any) -> None:
        owners: Json = {"ownerReferences": [owner]} if owner is not None else {}
        labels = {"app": "a"}
        body = pod(name, node=NODE, labels=labels, **owners, **metadata)
        await self.client.create(PODS, body, SPACE)
        ready = {"type": "Ready", "status": "True"}
        await self.phase(name, "Running", ready)

    async def phase(self, name: str, phase: str, *conditions: Json) -> None:
        status = {"status": {"phase": phase, "conditions": list(conditions)}}
        await self.client.patch(PODS, status, name, SPACE, subresource="status")

    async def budget(self, allowed: int) -> None:
        selector = {"matchLabels": {"app": "a"}}
        body = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
        await self.client.create(PDBS, body, SPACE)
        await self.allow(allowed)

    async def allow(self, allowed: int) -> None:
        counted = {"disruptionsAllowed": allowed, "observedGeneration": 1}
        await self.client.patch(PDBS, {"status": counted}, "b", SPACE, subresource="status")

    async def run(self, **options: Any) -> bool:
        clock = asyncio.get_running_loop().time
        begun = clock()
        report: Callable[[Step], None]
        report = lambda step: self.steps.append((clock() - begun, step))  # noqa: E731
        return await drain(self.api, self.client, NODE, report, Options(**options))

    async def finish(self, name: str, after: float) -> None:
        await asyncio.sleep(after)
        await self.api.finish_pod(SPACE, name)

    def told(self, name: str) -> list[tuple[float, str]]:
        return [(round(when, 3), each.what) for when, each in self.steps if each.name == name]


def simulated(test: Callable[[Drain], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """In simulated time, with a node of its own."""

    async def whole() -> None:
        this = Drain()
        await this.set_up()
        await test(this)

    def called() -> None:
        run(whole(), seed=1)

    called.__name__, called.__doc__ = test.__name__, test.__doc__
    return called


@simulated
async def test_all_pods_are_asked_for_at_once_and_looked_for_every_second(this: Drain) -> None:
    for name in ("a", "b"):
        await this.add(name)
    async with asyncio.TaskGroup() as going:
        going.create_task(this.finish("a", 2.5))
        going.create_task(this.finish("b", 0.5))
        assert await this.run()
    assert this.told("a") == [(0, What.EVICTING), (0, What.EVICTED), (3, What.GONE)]
    assert this.told("b") == [(0, What.EVICTING), (0, What.EVICTED), (1, What.GONE)]
    node = await this.client.get(NODES, NODE)
    assert node["spec"]["unschedulable"] is True


@simulated
async def test_a_refused_pod_is_asked_for_again_after_five_seconds(this: Drain) -> None:
    await this.add("a")
    await this.budget(0)

    async def recount() -> None:
        await asyncio.sleep(7)
        await this.allow(1)
        await this.finish("a", 4)

    async with asyncio.TaskGroup() as going:
        going.create_task(recount())
        assert await this.run()
    assert this.told("a") == [
        (0, What.EVICTING),
        (0, What.REFUSED),
        (5, What.EVICTING),
        (5, What.REFUSED),
        (10, What.EVICTING),
        (10, What.EVICTED),
        (11, What.GONE),
    ]
    [why, _] = [step.why for _, step in this.steps if step.what is What.REFUSED]
    assert why == "Cannot evict pod as it would violate the pod's disruption budget."


@simulated
async def test_retry_after_is_followed_silently(this: Drain) -> None:
    """A budget that was not counted yet: client-go waits as long as the server says."""
    await this.add("a")
    selector = {"matchLabels": {"app": "a"}}
    body = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    await this.client.create(PDBS, body, SPACE)

    async def recount() -> None:
        await asyncio.sleep(3)
        await this.allow(1)
        await this.finish("a", 10)

    async with asyncio.TaskGroup() as going:
        going.create_task(recount())
        assert await this.run()
    assert this.told("a") == [(0, What.EVICTING), (10, What.EVICTED), (13, What.GONE)]


@simulated
async def test_a_pod_that_was_replaced_meanwhile_is_asked_for_by_its_name(this: Drain) -> None:
    await this.add("a")
    await this.budget(0)

    async def replace() -> None:
        await asyncio.sleep(1)
        await this.client.delete(PODS, "a", SPACE, grace_period_seconds=0)
        await this.add("a")
        await this.allow(1)
        await this.finish("a", 5)

    async with asyncio.TaskGroup() as going:
        going.create_task(replace())
        assert await this.run()
    first, *_, last = (step.uid for _, step in this.steps)
    assert first != last
    assert this.told("a")[-2:] == [(5, What.EVICTED), (6, What.GONE)]


@simulated
async def test_other_answers_end_the_wait_for_that_pod_only(this: Drain) -> None:
    """Two budgets over one pod: the API server answers 500."""
    await this.add("a")
    await this.add("b")
    await this.client.patch(PODS, {"metadata": {"labels": {"app": "b"}}}, "b", SPACE)
    await this.budget(1)
    body = {
        "metadata": {"name": "c"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }
    await this.client.create(PDBS, body, SPACE)
    async with asyncio.TaskGroup() as going:
        going.create_task(this.finish("b", 1))
        assert not await this.run()
    assert this.told("a") == [(0, What.EVICTING), (0, What.FAILED)]
    assert this.told("b")[-1] == (1, What.GONE)


@simulated
async def test_a_pod_that_is_gone_already_is_no_failure(this: Drain) -> None:
    await this.add("a")
    await this.budget(0)

    async def vanish() -> None:
        await asyncio.sleep(1)
        await this.client.delete(PODS, "a", SPACE, grace_period_seconds=0)

    async with asyncio.TaskGroup() as going:
        going.create_task(vanish())
        assert await this.run()
    assert this.told("a")[-2:] == [(5, What.EVICTING), (5, What.GONE)]


@simulated
async def test_after_its_time_limit_it_gives_up(this: Drain) -> None:
    await this.add("a")
    await this.budget(0)
    assert not await this.run(timeout=12)
    assert this.told("a")[-1] == (12, What.FAILED)


@simulated
async def test_nothing_goes_beside_a_pod_that_kubectl_will_not_delete(this: Drain) -> None:
    await this.add("bare", owner=None)
    await this.add("a")
    assert not await this.run()
    assert [(step.what, step.name) for _, step in this.steps] == [(What.KEPT, "bare")]
    await cordon(this.client, NODE, unschedulable=False)
    assert "unschedulable" not in (await this.client.get(NODES, NODE))["spec"]


@simulated
async def test_a_rehearsal_goes_on_beside_it(this: Drain) -> None:
    await this.add("bare", owner=None)
    await this.add("a")
    async with asyncio.TaskGroup() as going:
        going.create_task(this.finish("a", 1))
        assert not await this.run(goes_on=True)
    assert this.told("bare") == [(0, What.KEPT)]
    assert this.told("a")[-1][1] is What.GONE


@simulated
async def test_options_let_bare_pods_and_local_storage_go(this: Drain) -> None:
    await this.add("bare", owner=None)
    async with asyncio.TaskGroup() as going:
        going.create_task(this.finish("bare", 1))
        assert await this.run(force=True)
    body = pod("scratch", node=NODE, ownerReferences=[OWNER])
    body["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    await this.client.create(PODS, body, SPACE)
    assert not await this.run()
    assert this.told("scratch") == [(0, What.KEPT)]
    async with asyncio.TaskGroup() as going:
        going.create_task(this.finish("scratch", 1))
        assert await this.run(delete_emptydir_data=True)


@simulated
async def test_pods_of_daemon_sets_and_mirrors_stay(this: Drain) -> None:
    daemon_sets = untyped("apps", "v1", "daemonsets", "DaemonSet")
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "d"}}}}
    await this.client.create(daemon_sets, body, SPACE)
    await this.add("d", owner=DAEMON)
    await this.add("m", owner=None, annotations={"kubernetes.io/config.mirror": "x"})
    assert await this.run()
    assert {step.name: step.what for _, step in this.steps} == {
        "d": What.IGNORED,
        "m": What.IGNORED,
    }


@simulated
async def test_a_pod_whose_daemon_set_is_gone_needs_force(this: Drain) -> None:
    await this.add("d", owner=DAEMON)
    assert not await this.run()
    assert this.told("d") == [(0, What.KEPT)]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_go_whatever_they_are(phase: str) -> None:
    @simulated
    async def finished(this: Drain) -> None:
        await this.add("done", owner=None)
        await this.phase("done", phase)
        assert await this.run()
        assert this.told("done")[-1] == (0, What.GONE)

    finished()
