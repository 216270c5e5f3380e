"""Native budgets in groups under one seeded course of events: gates whose stores lag, leaders that
change, evictors, a stock controller that writes its own numbers, pods that come back under their
names. No pod fails: a group that is down was evicted."""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.client import Client
from intact.kube.errors import ApiError, KubeError
from intact.kube.resources import PODS as POD_VIEWS
from intact.operator.pdb.controller import PdbController
from intact.operator.webhook.configuration import IN_GROUPS
from intact.sandbox import MemoryApi, Rule, run, wall_clock
from tests.simulation.network import Network, watches_of
from tests.simulation.scenario import Weather
from tests.support.objects import NAMESPACES, PDBS, PODS, Json, pod

NAMESPACE = "ns"
SECONDS = 60.0
CONTROLLERS = 3
WATCHED = ("pods", "poddisruptionbudgets")


class TooManyDown(AssertionError):
    """More groups were down at one moment than the budget allows."""


@dataclass
class Course:
    seed: int
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
        lags = rng.choice(((0.02,), (0.02, 1.0), (0.02, 3.0, 8.0)))
        self.weather = Weather(0.05, lost=rng.choice((0.0, 0.03)), lags=lags, pod_lags=lags)
        self.clock = wall_clock()
        self.api = MemoryApi(clock=self.clock, seed=self.seed, managed_fields=False)
        self.user = Client(self.api.as_user("someone"), rng=rng, on_warning=lambda _: None)
        self.controllers: list[PdbController] = []
        self.leader = 0

    async def play(self) -> None:
        await self.user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._keep(name)) for name in self._names()]
            page = await self.user.list(PODS, NAMESPACE)
            tasks.append(group.create_task(self._watch(page.resource_version)))
            self.controllers = [self._controller(number) for number in range(CONTROLLERS)]
            tasks += [group.create_task(each.run()) for each in self.controllers]
            self._register()
            tasks.append(group.create_task(self._lead()))
            await asyncio.sleep(5)
            await self.user.create(PDBS, self._budget(), NAMESPACE)
            await asyncio.sleep(5)
            tasks += [group.create_task(self._evict()) for _ in range(4)]
            tasks.append(group.create_task(self._stock()))
            await asyncio.sleep(SECONDS)
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
                "name": "b",
                "labels": {SCOPE_LABEL: "Workload"},
                "annotations": annotations,
            },
            "spec": {
                "selector": {"matchLabels": {"app": "a"}},
                "maxUnavailable": self.most_down,
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
        async def review(request: Json) -> Json:
            await asyncio.sleep(self.rng.uniform(0, 0.1))
            gate = self.rng.choice(self.controllers).status_gate
            answer = await gate.review(msgspec.Raw(msgspec.json.encode(request)))
            await asyncio.sleep(self.rng.uniform(0, 0.1))
            found: Json = msgspec.to_builtins(answer)
            return found

        self.api.admit(
            "status",
            review,
            [Rule(("poddisruptionbudgets/status",), ("UPDATE",))],
            mutating=True,
            object_selector=IN_GROUPS,
        )

        async def door(request: Json) -> Json:
            await asyncio.sleep(self.rng.uniform(0, 0.1))
            if self.rng.random() < 0.1:
                raise ConnectionRefusedError("nobody is at the door")
            asked = self.rng.choice(self.controllers).door
            answer: Json = msgspec.to_builtins(
                await asked.review(msgspec.Raw(msgspec.json.encode(request)))
            )
            return answer

        rules = [Rule(("pods/eviction",), ("CREATE",))]
        self.api.admit("door", door, rules, fail_open=True)

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
            await self._set_ready(name)
            while not self._is_going(name):
                await asyncio.sleep(0.1)
            await asyncio.sleep(self.rng.uniform(0, 2.0))
            with suppress(ApiError):
                await self.api.finish_pod(NAMESPACE, name)
            await asyncio.sleep(self.rng.uniform(0.05, 1.0))

    async def _set_ready(self, name: str) -> None:
        ready = {"type": "Ready", "status": "True"}
        body = {"status": {"phase": "Running", "conditions": [ready]}}
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
                await stock.patch(PDBS, {"status": status}, "b", NAMESPACE, subresource="status")

    async def _watch(self, version: str) -> None:
        ready = {group: set[str]() for group in self.groups}
        counted = False
        async with self.user.watch(PODS, NAMESPACE, resource_version=version) as events:
            async for event in events:
                found: Json | None = event.object
                if found is None:
                    continue
                meta = found["metadata"]
                pods = ready[meta["labels"]["group"]]
                pods.discard(meta["uid"])
                conditions = found.get("status", {}).get("conditions") or []
                if (
                    event.type != "DELETED"
                    and "deletionTimestamp" not in meta
                    and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
                ):
                    pods.add(meta["uid"])
                down = [group for group, have in ready.items() if len(have) < self.need]
                counted = counted or not down
                if counted and len(down) > self.most_down:
                    raise TooManyDown(f"seed {self.seed}: {down}, of {self.most_down} allowed")


def simulate_groups(seed: int) -> Course:
    course = Course(seed)
    run(course.play(), seed=seed, max_steps=5_000_000)
    return course
