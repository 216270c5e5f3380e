"""The operators of a run, each in place of a process, and the Service before their gates."""

import asyncio
import random
from datetime import datetime, timedelta
from typing import Any

import msgspec

from intact.kube.client import Client
from intact.kube.lease import Election, Timing
from intact.operator.pub.controller import PubController
from intact.operator.webhook.configuration import GATED_LABEL
from intact.sandbox import Rule
from tests.simulation.network import Network, watches_of
from tests.simulation.world import World

_WATCHED = ("pods", "podunavailablebudgets", "statefulsets", "replicasets", "leases")
_SKEW = 1.0
"""Seconds by which the clock of an operator may be wrong."""
_FORGOTTEN_AFTER = 3.0
"""Seconds until the Service notices that an operator is dead."""


class Operator:
    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.died: float | None = None
        rng = world.rng(name)
        skew = timedelta(seconds=rng.uniform(-_SKEW, _SKEW))

        def now() -> datetime:
            return world.clock() + skew

        def seeded() -> random.Random:
            return random.Random(rng.getrandbits(64))

        self.network = Network(world.api, name, seeded(), lambda: world.weather)
        for plural in _WATCHED:
            weather = world.weather
            most = rng.choice(weather.pod_lags if plural == "pods" else weather.lags)
            world.api.faults.delay_watches(0, most, watches_of(name, f"/{plural}"))
        client = Client(self.network, rng=seeded(), on_warning=lambda _text: None)
        lease = world.scenario.lease
        self.election = Election(
            client,
            "default",
            "intact",
            name,
            timing=Timing(duration=lease, renew_deadline=lease * 2 / 3, retry_period=lease / 6),
            now=now,
            rng=seeded(),
        )
        self.pub = PubController(
            client, name, now=now, leads=lambda: self.election.leads, rng=seeded()
        )
        self._world = world
        self._tasks: list[asyncio.Task[Any]] = []
        self._reviews: dict[int, asyncio.Task[Any]] = {}
        self._asked = 0

    def start(self) -> None:
        self._world.trace.note(f"{self.name} starts")
        self._tasks = [
            asyncio.create_task(self.pub.run(), name=f"{self.name} run"),
            asyncio.create_task(self.election.run(self.pub.lead), name=f"{self.name} election"),
        ]

    @property
    def is_ready(self) -> bool:
        return self.died is None and all(each.store.synced for each in self.pub.reflectors)

    def kill(self) -> None:
        """At once: nothing is released, and nothing more is sent."""
        role = "leader" if self.election.leads else "follower"
        self._world.trace.note(f"{self.name} dies ({role})")
        self._world.trace.count("deaths")
        self._world.trace.count(f"deaths of a {role}")
        self.died = asyncio.get_running_loop().time()
        self.network.cut()
        self.count()
        for task in [*self._tasks, *self._reviews.values()]:
            task.cancel()

    def count(self) -> None:
        counts = self._world.trace.count
        counts("gate conflicts", self.pub.commits.conflicts)
        counts("gate commits", self.pub.commits.commits)
        counts("recount conflicts", self.pub.recounter.conflicts)
        counts("recounts", self.pub.recounter.writes)
        counts("leaderships", self.election.transitions)

    async def review(self, request: dict[str, Any], *, pinning: bool = False) -> dict[str, Any]:
        if self.died is not None:
            raise ConnectionRefusedError(f"{self.name} is dead")
        self._asked += 1
        number = self._asked
        raw = msgspec.Raw(msgspec.json.encode(request))
        handler = self.pub.pin.review if pinning else self.pub.gate.review
        task = self._reviews[number] = asyncio.create_task(handler(raw))
        try:
            # A caller that gives up does not cancel the review.
            await asyncio.wait({task})
        finally:
            del self._reviews[number]
        if task.cancelled():
            raise ConnectionResetError(f"{self.name} died")
        answer: dict[str, Any] = msgspec.to_builtins(task.result())
        return answer


class Service:
    """One hook, which asks any operator that is alive and ready."""

    def __init__(self, world: World) -> None:
        self.operators: list[Operator] = []
        self._world = world
        self._rng = world.rng("service")
        self._started = 0
        world.api.admit(
            "pin",
            self._pin,
            [Rule(("pods/eviction",), ("CREATE",))],
            mutating=True,
            namespace_selector={"matchLabels": {GATED_LABEL: "true"}},
        )
        world.api.admit(
            "gate",
            self._review,
            [
                Rule(("pods",), ("DELETE", "UPDATE")),
                Rule(("pods/eviction",), ("CREATE",)),
            ],
            namespace_selector={"matchLabels": {GATED_LABEL: "true"}},
            condition=_is_present,
        )
        # Another webhook may refuse what the gate has admitted: then nothing happens to the pod.
        self._others = world.rng("other policy")
        self.refusals = 0.1
        world.api.admit(
            "other",
            self._refuse_some,
            [Rule(("pods",), ("DELETE", "UPDATE")), Rule(("pods/eviction",))],
        )

    def start(self) -> Operator:
        self._started += 1
        # The name seeds its random streams: with another name every seed is another course.
        operator = Operator(self._world, f"replica-{self._started}")
        self.operators.append(operator)
        operator.start()
        return operator

    @property
    def alive(self) -> list[Operator]:
        return [operator for operator in self.operators if operator.died is None]

    async def _review(self, request: dict[str, Any]) -> dict[str, Any]:
        trace, name = self._world.trace, request["name"]
        what = f"{request.get('subResource') or request['operation']} {name}"
        operator, answer = await self._ask(request)
        if name == "intact-probe":
            return answer
        if answer["allowed"]:
            trace.count("admissions")
            trace.note(f"{operator.name} admits {what}")
        else:
            trace.count("denials")
            trace.note(f"{operator.name} denies {what}: {answer['status']['message'][:90]}")
        return answer

    async def _pin(self, request: dict[str, Any]) -> dict[str, Any]:
        return (await self._ask(request, pinning=True))[1]

    async def _ask(
        self, request: dict[str, Any], *, pinning: bool = False
    ) -> tuple[Operator, dict[str, Any]]:
        await self._travel()
        endpoints = [operator for operator in self.operators if self._is_listed(operator)]
        if not endpoints:
            self._world.trace.count("unanswered")
            raise ConnectionRefusedError("no endpoints")
        operator = self._rng.choice(endpoints)
        try:
            answer = await operator.review(request, pinning=pinning)
        except ConnectionError:
            self._world.trace.count("unanswered")
            raise
        await self._travel()
        return operator, answer

    def _is_listed(self, operator: Operator) -> bool:
        if operator.died is None:
            return operator.is_ready
        return asyncio.get_running_loop().time() - operator.died < _FORGOTTEN_AFTER

    async def _travel(self) -> None:
        await asyncio.sleep(self._rng.uniform(0, self._world.weather.latency))

    async def _refuse_some(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._others.random() >= self.refusals or request["name"] == "intact-probe":
            return {"allowed": True}
        await self._travel()
        self._world.trace.count("refused by others")
        self._world.trace.note(f"another policy refuses {request['operation']} {request['name']}")
        return {"allowed": False, "status": {"code": 403, "message": "not today"}}


def _is_present(request: dict[str, Any]) -> bool:
    """As the match condition of the registration: terminating and finished pods are not sent."""
    old = request.get("oldObject")
    if not old:
        return True
    phase = old.get("status", {}).get("phase")
    return "deletionTimestamp" not in old["metadata"] and phase not in ("Succeeded", "Failed")
