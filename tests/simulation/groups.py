"""Native budgets in groups under one seeded course of events: gates whose stores lag, leaders that
change, evictors, a stock controller that writes its own numbers, pods that come back under their
names. In some courses pods fail, and in some no group can reach its need. In the end all pods are
ready, and a drain of all of them must end."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.client import Client
from intact.kube.errors import ApiError, KubeError
from intact.kube.resources import PODS as POD_VIEWS
from intact.operator.pdb.controller import PdbController
from intact.operator.pdb.door import Door
from intact.operator.pdb.status_gate import PdbStatusGate
from intact.operator.webhook.configuration import DOOR_LABEL, IN_GROUPS
from intact.sandbox import MemoryApi, Rule, run, wall_clock
from intact.sandbox.api.admission import Handler
from tests.simulation.group_truth import BUDGET, NAMESPACE, GroupTruth
from tests.simulation.network import Network, watches_of
from tests.simulation.scenario import Weather
from tests.simulation.truth import is_ready
from tests.support.objects import NAMESPACES, PDBS, PODS, Json, pod

SECONDS = 60.0
_DRAINED_WITHIN = 240.0
"""Simulated seconds. An eviction that comes to nothing holds its group for two minutes."""
CONTROLLERS = 3
WATCHED = ("pods", "poddisruptionbudgets")


class Stuck(AssertionError):
    """A drain that the budget can afford does not end."""


@dataclass
class Course:
    seed: int
    reachable: bool | None = None
    """Whether groups can reach their need; None to leave it to chance."""
    failing: bool | None = None
    """Whether pods fail; None to leave it to chance."""
    lags: tuple[float, ...] = ()
    """How late watches may be; empty to leave it to chance."""
    rng: random.Random = field(init=False)
    allowed: int = 0
    denied: int = 0
    leaders: int = 0

    def __post_init__(self) -> None:
        self.rng = rng = random.Random(f"groups {self.seed}")
        self.need = rng.randint(1, 3)
        self.groups = {
            f"g{number}": self.need + rng.choice((0, 0, 1)) for number in range(rng.randint(2, 5))
        }
        self.most_down = rng.randint(1, max(1, len(self.groups) - 1))
        by_chance = rng.choice(((0.02,), (0.02, 1.0), (0.02, 3.0, 8.0)))
        lags = self.lags or by_chance
        self.weather = Weather(0.05, lost=rng.choice((0.0, 0.03)), lags=lags, pod_lags=lags)
        self.clock = wall_clock()
        self.api = MemoryApi(clock=self.clock, seed=self.seed, managed_fields=False)
        self.user = Client(self.api.as_user("someone"), rng=rng, on_warning=lambda _: None)
        self.controllers: list[PdbController] = []
        self.asked: Counter[type] = Counter()
        self.leader = 0
        kinds = random.Random(f"kinds {self.seed}")
        fails, reaches = kinds.random() < 0.5, kinds.random() < 0.9
        self.failing = fails if self.failing is None else self.failing
        self.reachable = reaches if self.reachable is None else self.reachable
        self.policy = kinds.choice(("", "IfHealthyBudget", "AlwaysAllow"))
        if not self.reachable:
            self.need = max(self.groups.values()) + kinds.choice((1, 5))
        self.truth = GroupTruth(
            self.api,
            self.need,
            self.groups,
            len(self.groups) - self.most_down,
            always_allow=self.policy == "AlwaysAllow",
        )

    async def play(self) -> None:
        await self.user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._keep(name)) for name in self._names()]
            self.controllers = [self._controller(number) for number in range(CONTROLLERS)]
            tasks += [group.create_task(each.run()) for each in self.controllers]
            self._register()
            tasks.append(group.create_task(self._lead()))
            await asyncio.sleep(5)
            await self.user.create(PDBS, self._budget(), NAMESPACE)
            await asyncio.sleep(5)
            self.truth.counted = not self.reachable
            trouble = [group.create_task(self._evict()) for _ in range(4)]
            if self.failing:
                trouble.append(group.create_task(self._fail_pods()))
            tasks.append(group.create_task(self._stock()))
            await asyncio.sleep(SECONDS)
            for task in trouble:
                task.cancel()
            if self.reachable:
                await self._drain()
            for task in tasks:
                task.cancel()

    def _names(self) -> list[tuple[str, str]]:
        return [
            (f"{group}-{number}", group)
            for group, size in self.groups.items()
            for number in range(size)
        ]

    def _budget(self) -> Json:
        annotations = {
            "intact.dev/group-label-key": "group",
            "intact.dev/min-ready-replicas": str(self.need),
            "intact.dev/expected-replicas": str(len(self.groups)),
        }
        return {
            "metadata": {
                "name": BUDGET,
                "labels": {SCOPE_LABEL: "Workload"},
                "annotations": annotations,
            },
            "spec": {
                "selector": {"matchLabels": {"app": "a"}},
                "maxUnavailable": self.most_down,
                **({"unhealthyPodEvictionPolicy": self.policy} if self.policy else {}),
            },
        }

    def _controller(self, number: int) -> PdbController:
        name = f"controller-{number}"
        network = Network(
            self.api, name, random.Random(self.rng.getrandbits(64)), lambda: self.weather
        )
        for plural in WATCHED:
            most = self.rng.choice(self.weather.pod_lags)
            self.api.faults.delay_watches(0, most, watches_of(name, f"/{plural}"))
        return PdbController(
            Client(network, rng=random.Random(number), on_warning=lambda _: None),
            name,
            now=self.clock,
            leads=lambda: self.leader == number,
            rng=random.Random(number),
        )

    def _register(self) -> None:
        self.api.admit(
            "status",
            self._ask(lambda controller: controller.status_gate),
            [Rule(("poddisruptionbudgets/status",), ("UPDATE",))],
            mutating=True,
            object_selector=IN_GROUPS,
        )
        self.api.admit(
            "door",
            self._ask(lambda controller: controller.door),
            [Rule(("pods/eviction",), ("CREATE",))],
            namespace_selector={"matchLabels": {DOOR_LABEL: "true"}},
            fail_open=True,
        )

    def _ask(self, part: Callable[[PdbController], PdbStatusGate | Door]) -> Handler:
        """Any controller, as the Service before them does."""

        async def review(request: Json) -> Json:
            await asyncio.sleep(self.rng.uniform(0, 0.1))
            asked = part(self.rng.choice(self.controllers))
            if isinstance(asked, Door) and self.rng.random() < 0.1:
                raise ConnectionRefusedError("nobody is at the door")
            answer = await asked.review(msgspec.Raw(msgspec.json.encode(request)))
            await asyncio.sleep(self.rng.uniform(0, 0.1))
            self.asked[type(asked)] += 1
            found: Json = msgspec.to_builtins(answer)
            return found

        return review

    async def _lead(self) -> None:
        """Controllers lead in turn. Requests of the last leader may still arrive later."""
        while True:
            task = asyncio.create_task(self.controllers[self.leader].lead())
            self.leaders += 1
            try:
                await asyncio.sleep(self.rng.uniform(3, 25))
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            self.leader = (self.leader + 1) % CONTROLLERS

    async def _keep(self, wanted: tuple[str, str]) -> None:
        """A pod of a StatefulSet and its kubelet: once gone, it comes back under its name."""
        name, group = wanted
        while True:
            body = pod(name, node="n", labels={"app": "a", "group": group})
            await self.user.create(PODS, body, NAMESPACE)
            await asyncio.sleep(self.rng.uniform(0.1, 2.0))
            created = self.api.peek("pods", NAMESPACE, name) or body
            await self._set_ready(name, created["metadata"]["uid"])
            while not self._is_going(name):
                await asyncio.sleep(0.1)
            await asyncio.sleep(self.rng.uniform(0, 2.0))
            with suppress(ApiError):
                await self.api.finish_pod(NAMESPACE, name)
            await asyncio.sleep(self.rng.uniform(0.05, 1.0))

    async def _set_ready(self, name: str, uid: str, *, ready: bool = True) -> None:
        condition = {"type": "Ready", "status": str(ready)}
        body = {
            "metadata": {"uid": uid},
            "status": {"phase": "Running", "conditions": [condition]},
        }
        with suppress(ApiError):
            await self.user.patch(PODS, body, name, NAMESPACE, subresource="status")

    def _is_going(self, name: str) -> bool:
        found = self.api.peek("pods", NAMESPACE, name)
        return found is None or "deletionTimestamp" in found["metadata"]

    async def _evict(self) -> None:
        while True:
            await asyncio.sleep(self.rng.uniform(0, 0.5))
            name, _ = self.rng.choice(self._names())
            try:
                await self.user.evict(POD_VIEWS, name, NAMESPACE)
            except KubeError:
                self.denied += 1
            else:
                self.allowed += 1

    async def _stock(self) -> None:
        """It writes numbers of pods, and clears disruptedPods."""
        stock = Client(self.api.as_user("kube-controller-manager"), field_manager="kcm")
        while True:
            await asyncio.sleep(self.rng.uniform(0, 1.0))
            status = {"disruptionsAllowed": 99, "currentHealthy": 99, "disruptedPods": None}
            with suppress(KubeError):
                await stock.patch(PDBS, {"status": status}, BUDGET, NAMESPACE, subresource="status")

    async def _fail_pods(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(self.rng.expovariate(1 / 4))
                name, _ = self.rng.choice(self._names())
                group.create_task(self._fail(name))

    async def _fail(self, name: str) -> None:
        found = self.api.peek("pods", NAMESPACE, name)
        if found is None or not is_ready(found):
            return
        uid = found["metadata"]["uid"]
        await self._set_ready(name, uid, ready=False)
        await asyncio.sleep(self.rng.uniform(0.2, 15))
        await self._set_ready(name, uid)

    async def _drain(self) -> None:
        """All pods that are there go, once, with nothing failing any more."""
        for found in list(self.api.objects("pods", NAMESPACE)):
            await self._set_ready(found["metadata"]["name"], found["metadata"]["uid"])
        pods = {pod["metadata"]["uid"]: pod for pod in self.api.objects("pods", NAMESPACE)}
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAINED_WITHIN):
                while pods:
                    for uid, found in list(pods.items()):
                        name = found["metadata"]["name"]
                        now = self.api.peek("pods", NAMESPACE, name)
                        if now is None or now["metadata"]["uid"] != uid:
                            del pods[uid]
                            continue
                        with suppress(KubeError):
                            await self.user.evict(POD_VIEWS, name, NAMESPACE, uid=uid)
                    await asyncio.sleep(self.rng.uniform(0.2, 1))
                return
        left = [found["metadata"]["name"] for found in pods.values()]
        raise Stuck(f"seed {self.seed}: after {_DRAINED_WITHIN:g} s there are still {left}")


def simulate_groups(course: Course) -> Course:
    run(course.play(), seed=course.seed, on_step=course.truth.observe, max_steps=5_000_000)
    return course
