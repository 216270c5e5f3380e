"""The operators of a run, each in place of a process. The leader may die at any of its requests."""

import asyncio
import random
from typing import Any

from intact.kube.client import Client
from intact.kube.lease import Election, Timing
from intact.kube.transport import Request
from intact.operator.rbg.controller import RbgController
from tests.simulation.network import Network, watches_of
from tests.simulation.rbg.course import INTACT
from tests.simulation.rbg.world import World, seconds

WATCHED = (
    "rolebasedgroups",
    "pods",
    "statefulsets",
    "deployments",
    "services",
    "configmaps",
    "controllerrevisions",
    "rolebasedgroupscalingadapters",
    "leases",
)
_TIMING = Timing(duration=9.0, renew_deadline=4.5, retry_period=1.5)
"""No request is under way for longer than from the end of a leadership to the next one."""
_WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Operator:
    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.alive = True
        self._world = world
        self._left: int | None = None
        self._tasks: list[asyncio.Task[Any]] = []
        rng = world.rng(name)

        def seeded() -> random.Random:
            return random.Random(rng.getrandbits(64))

        self.network = Network(
            world.api, name, seeded(), lambda: world.weather, user=INTACT, on_send=self._sends
        )
        for plural in WATCHED:
            weather = world.weather
            most = rng.choice(weather.pod_lags if plural == "pods" else weather.lags)
            world.api.faults.delay_watches(0, most, watches_of(name, f"/{plural}"))
        client = Client(self.network, rng=seeded(), on_warning=lambda _text: None)
        self.election = Election(
            client, "default", "intact", name, timing=_TIMING, now=world.clock, rng=seeded()
        )
        self.rbg = RbgController(
            client, name, now=world.clock, leads=lambda: self.election.leads, rng=seeded()
        )

    def start(self) -> None:
        self._world.trace.note(f"{self.name} starts")
        self._tasks = [
            asyncio.create_task(self.rbg.run(), name=f"{self.name} run"),
            asyncio.create_task(self.election.run(self.rbg.lead), name=f"{self.name} election"),
        ]

    def _sends(self, request: Request) -> None:
        if "/leases" in request.path or "/events" in request.path:
            return
        if request.method in _WRITES:
            self._world.intact_wrote = seconds()
            self._world.trace.count("writes")
            self._world.trace.note(f"{self.name} {request.method} {_short(request)}")
        if self._left is not None and self.election.leads:
            self._left -= 1
            if self._left <= 0:
                self.kill()

    def kill(self) -> None:
        """At once: nothing is released, nothing more is sent. Its last request may still arrive."""
        if not self.alive:
            return
        self._world.say(f"{self.name} dies")
        self._world.trace.count("deaths of a leader")
        self.alive = False
        self.network.cut()
        for task in self._tasks:
            task.cancel()

    def dies_in(self, requests: int | None) -> None:
        """At the request of this number from now on, as the leader; None: not at all."""
        self._left = requests


class Operators:
    def __init__(self, world: World) -> None:
        self.all: list[Operator] = []
        self._world = world
        self._rng = world.rng("deaths")
        self._deadly = False

    @property
    def alive(self) -> list[Operator]:
        return [one for one in self.all if one.alive]

    def start(self) -> None:
        operator = Operator(self._world, f"replica-{len(self.all) + 1}")
        self.all.append(operator)
        self._doom(operator)
        operator.start()

    def doom(self) -> None:
        """From now on, leaders die."""
        self._deadly = True
        for one in self.alive:
            self._doom(one)

    def _doom(self, operator: Operator) -> None:
        kills = self._world.course.kills
        if self._deadly and kills is not None:
            operator.dies_in(1 + int(self._rng.expovariate(1 / kills)))

    async def replace_dead(self) -> None:
        """Until cancelled: a dead operator is replaced after a while."""
        while True:
            await asyncio.sleep(self._rng.uniform(0.5, 4))
            if len(self.alive) < self._world.course.operators:
                self.start()

    def spare(self) -> None:
        """None of them dies any more."""
        self._deadly = False
        for one in self.all:
            one.dies_in(None)
        if not self.alive:
            self.start()


def _short(request: Request) -> str:
    path = request.path.partition("/namespaces/")[2].partition("/")[2]
    dry = " (dry run)" if request.body and b'"dryRun"' in request.body else ""
    return f"{path}{dry}"
