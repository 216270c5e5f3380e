"""Our disruption controller and that of Kubernetes: the same course of events on two clusters.

After every step both come to rest, and every budget must show the same. If the stock controller
does not notice a change, the test makes it look again: then it must show what Intact shows already.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from intact.kube.client import Client
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from tests.support.disruption_script import NODE, NS, Script, Side, Step
from tests.support.intact_process import intact_run
from tests.support.objects import NAMESPACES, PDBS, PODS, Json, pod

SEED = 20260101
STEPS = 320
# The script plays these controllers, so that both clusters have the same pods at the same time.
PLAYED = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "replicationcontroller-controller",
    "garbage-collector-controller",
    "pod-garbage-collector-controller",
)
INTENDED = (
    "several budgets",
    "a change of labels",
    "a change of scale",
    "the end of a controller",
    "a re-created name",
)
"""What the stock controller does not notice, or sees differently: docs/reference/pdb.md."""
CERTAIN = ("several budgets", "a change of labels", "a change of scale")
"""These always differ; the others depend on which of two events the controller sees first."""
FENCE = "fence"


def flags(*more: str) -> dict[str, list[str]]:
    off = ",".join(f"-{name}" for name in (*PLAYED, *more))
    return {CONTROLLER_MANAGER: [f"--controllers=*,{off}"]}


class Stand(Side):
    """A cluster with a fence: a budget and a pod that show when all earlier events are counted."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._fence_ready = True

    async def set_up(self) -> None:
        await self.prepare()
        await until(self.has_account, "the service account")
        await until(self.serves_kinds, "the kinds of the script")
        await self.client.create(NAMESPACES, {"metadata": {"name": FENCE}})
        await until(self._fence_made, "the fence")
        spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": FENCE}}}
        meta = {"name": FENCE}
        body = {"apiVersion": PDBS.api_version, "kind": PDBS.kind, "metadata": meta, "spec": spec}
        await self.client.create(PDBS, body, FENCE)
        await self.fence()

    async def _fence_made(self) -> bool:
        accounts = await self.client.raw(f"/api/v1/namespaces/{FENCE}/serviceaccounts")
        if b'"default"' not in accounts:
            return False
        labels = {"app": FENCE}
        await self.client.create(PODS, pod(FENCE, node=NODE, labels=labels), FENCE)
        return True

    async def fence(self) -> None:
        """Return once all earlier events are counted: the queue of a controller keeps its order."""
        self._fence_ready = not self._fence_ready
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(self._fence_ready)}],
        }
        await self.client.patch(PODS, {"status": status}, FENCE, FENCE, subresource="status")

        async def counted() -> bool:
            found = await self.client.get(PDBS, FENCE, FENCE)
            healthy: int = found.get("status", {}).get("currentHealthy", -1)
            return healthy == int(self._fence_ready)

        await until(counted, "the fence to be counted")

    async def shown(self) -> dict[str, Any]:
        """What each budget shows."""
        listed = await self.client.list(PDBS, NS)
        return {one["metadata"]["name"]: _shown(one) for one in listed.items}

    async def look_again(self, names: list[str], number: int) -> None:
        """Change the budget itself, which both controllers notice."""
        body = {"metadata": {"annotations": {"script": str(number)}}}
        for name in names:
            await self.client.patch(PDBS, body, name, NS)
        await self.fence()

    async def forget(self, names: list[str], evicted: str) -> None:
        """Remove the record of an eviction, as the controller does after two minutes."""
        for name in names:
            body = {"status": {"disruptedPods": {evicted: None}}}
            await self.client.patch(PDBS, body, name, NS, subresource="status")


def _shown(budget: Json) -> dict[str, Any]:
    status = budget.get("status", {})
    numbers = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    verdict = [
        (one["status"], one["reason"], _problem(one["message"]))
        for one in status.get("conditions", ())
        if one["type"] == "DisruptionAllowed"
    ]
    return {
        **{name: status.get(name, 0) for name in numbers},
        "disruptedPods": sorted(status.get("disruptedPods") or ()),
        "observed": budget["metadata"]["generation"] - status.get("observedGeneration", 0),
        "DisruptionAllowed": verdict,
    }


PROBLEMS = (
    r'found no controllers for pod "p-\d+"',
    r"recipes\.script\.intact\.dev does not implement the scale subresource",
)


def _problem(message: str) -> str:
    """If several owners cannot be counted, it is chance which of them the controller names."""
    if any(re.fullmatch(problem, message) for problem in PROBLEMS):
        return "a controller that cannot be counted by"
    return message


async def until(condition: Callable[[], Awaitable[bool]], what: str, within: float = 120) -> None:
    try:
        async with asyncio.timeout(within):
            while not await condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"waited too long for {what}") from None


@asynccontextmanager
async def stands() -> AsyncGenerator[tuple[Stand, Stand], None]:
    """The cluster of the stock controller, and ours."""
    async with AsyncExitStack() as stack:
        both: list[Stand] = []
        for options in (flags(), flags("disruption-controller")):
            cluster = Cluster(flags=options, without=[SCHEDULER, KWOK])
            cluster.open()
            stack.callback(cluster.close)
            if both:
                running = await stack.enter_async_context(
                    intact_run(Path(cluster.kubeconfig), "--controllers=disruption")
                )
                await running.started()
                await running.ready()
            transport = HttpTransport(from_kubeconfig([cluster.kubeconfig]))
            both.append(Stand(await stack.enter_async_context(Client(transport))))
        await asyncio.gather(*(stand.set_up() for stand in both))
        yield both[0], both[1]


class Comparison:
    def __init__(self, stock: Stand, ours: Stand) -> None:
        self.stock = stock
        self.ours = ours
        self.course: list[str] = []
        self.intended: Counter[str] = Counter()
        self.compared = 0

    async def play(self, step: Step) -> None:
        self.course.append(step.text)
        answers = await asyncio.gather(step.play(self.stock), step.play(self.ours))
        if isinstance(answers[0], int):
            assert answers[0] == answers[1], self._told("the answers differ", answers)
        await asyncio.gather(self.stock.fence(), self.ours.fence())
        await self._compare(step)

    async def _compare(self, step: Step) -> None:
        different: dict[str, Any] = {}

        async def equal() -> bool:
            stock, ours = await asyncio.gather(self.stock.shown(), self.ours.shown())
            different.clear()
            different.update(
                {
                    name: (stock.get(name), ours.get(name))
                    for name in stock.keys() | ours.keys()
                    if stock.get(name) != ours.get(name)
                }
            )
            return not different

        self.compared += 1
        if await self._settled(equal, 0.5 if step.unnoticed else 60):
            return
        assert step.unnoticed in INTENDED, self._told("they differ", different)
        self.intended[step.unnoticed] += 1
        names = sorted(different)
        if step.cleared:
            await self.stock.forget(names, step.cleared)
        await self.stock.look_again(names, self.compared)
        if not await self._settled(equal, 60):
            raise AssertionError(
                self._told(f"they differ, also looked at again ({step.unnoticed})", different)
            )

    async def _settled(self, equal: Callable[[], Awaitable[bool]], within: float) -> bool:
        try:
            await until(equal, "equal budgets", within)
        except AssertionError:
            return False
        return True

    def _told(self, problem: str, what: object) -> str:
        return f"{problem}: {what}\nafter\n" + "\n".join(self.course[-12:])


async def test_budgets_show_the_same_under_both_disruption_controllers() -> None:
    async with stands() as (stock, ours):
        script = Script(SEED)
        comparison = Comparison(stock, ours)
        for step in script.opening():
            await comparison.play(step)
        for _ in range(STEPS):
            await comparison.play(script.step())
        shown = await ours.shown()
    assert comparison.compared > STEPS
    assert shown
    # A difference that is documented and no longer there must be removed from the docs.
    assert comparison.intended.keys() >= set(CERTAIN), comparison.intended
