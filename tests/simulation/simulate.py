"""One run: a seed in, what happened out, or a failure with the last events before it."""

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from intact.sandbox import Deadlock, LimitReached, SimulatedLoop
from tests.simulation.chaos import kill_operators, restore_backups, trouble_watches
from tests.simulation.cluster import NODES, Cluster
from tests.simulation.forgery import forge_reviews
from tests.simulation.native import NativeBudget
from tests.simulation.operators import Service
from tests.simulation.people import People
from tests.simulation.scenario import CALM, Scenario, scenario
from tests.simulation.truth import Violation
from tests.simulation.world import World

_MOST_STEPS = 1_000_000
_COUNTED_WITHIN = 120.0
_DRAINED_WITHIN = 180.0
_SETTLED_WITHIN = 90.0
"""Simulated seconds from the end of all trouble: for the drains, then for the status."""
_ADMITTED_WITHIN = 15.0
"""Simulated seconds for a deletion that the budget can afford, while others keep asking for what a
PodDisruptionBudget refuses."""
_ASKED_IN_VAIN = 40.0
"""Simulated seconds: longer than a record lives."""


class Stuck(AssertionError):
    """Something that must end does not."""


class Failed(AssertionError):
    """A run that broke a rule, with its seed and its last events."""


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    steps: int
    digest: str
    counts: Counter[str]


def simulate(seed: int, make: Callable[[int], Scenario] = scenario) -> Outcome:
    # The tasks of a run refer to one another: uncollected, they slow down the next runs.
    gc.collect()
    world = World(make(seed))
    loop = SimulatedLoop(seed, on_step=world.truth.observe, max_steps=_MOST_STEPS)
    try:
        loop.run_until_complete(_Run(world).main())
    except (Violation, Stuck, LimitReached, Deadlock) as error:
        raise Failed(_explain(world, error)) from error
    finally:
        loop.close()
    counts = world.trace.counts
    counts["simulated seconds"] = int(loop.time())
    return Outcome(seed, loop.steps, world.trace.digest, counts)


def _explain(world: World, error: Exception) -> str:
    events = "\n".join(world.trace.last)
    what = type(error).__name__
    return f"seed {world.scenario.seed}: {what}: {error}\n{world.scenario}\n{events}"


class _Run:
    def __init__(self, world: World) -> None:
        self._world = world
        self._scenario: Scenario = world.scenario
        self._cluster = Cluster(world)
        self._people = People(world, self._cluster)
        self._service = Service(world)
        self._native = NativeBudget(world)
        self._drains: list[asyncio.Task[None]] = []

    async def main(self) -> None:
        await self._cluster.set_up()
        if self._scenario.native:
            await self._native.create()
        for _ in range(self._scenario.operators):
            self._service.start()
        await self._until(self._is_counted, _COUNTED_WITHIN, "every budget is counted")
        rng = self._world.rng("plan")
        for node in NODES:
            drain = self._people.drain(node, rng.uniform(0, self._scenario.duration))
            self._drains.append(asyncio.create_task(drain, name=f"drain {node}"))
        await self._trouble()
        await self._heal()
        await self._until(self._is_drained, self._drained_within, "every drain has ended")
        await self._until(self._is_settled, _SETTLED_WITHIN, "the status is as counted")
        if self._scenario.native:
            await self._check_refusals_cost_nothing()
        for operator in self._service.alive:
            operator.count()

    @property
    def _drained_within(self) -> float:
        """A budget may allow one pod at a time to go, and each takes a while to start again."""
        pods = max(len(workload.groups) for workload in self._scenario.workloads)
        return _DRAINED_WITHIN + pods * self._scenario.slowest_start

    async def _trouble(self) -> None:
        people, world, service = self._people, self._world, self._service
        paces = self._scenario.paces
        actors: list[Coroutine[Any, Any, None]] = [
            people.delete_pods(paces.deletions),
            people.update_pods(paces.updates),
            people.mark_pods(paces.marks),
            kill_operators(world, service, paces.deaths),
            trouble_watches(world, service),
        ]
        if paces.failures is not None:
            actors.append(people.fail_pods(paces.failures))
        if self._scenario.native:
            actors.append(self._native.run())
        if self._scenario.forgeries is not None:
            actors.append(forge_reviews(world, service, self._scenario.forgeries))
        if self._scenario.restores is not None:
            actors.append(restore_backups(world, self._cluster, self._scenario.restores))
        tasks = [asyncio.create_task(actor) for actor in actors]
        await asyncio.sleep(self._scenario.duration)
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def _heal(self) -> None:
        self._world.trace.note("everything heals")
        self._world.weather = CALM
        self._world.api.faults.heal()
        self._service.refusals = 0
        if self._scenario.native:
            await self._native.allow(1000)
        for _ in range(2 - len(self._service.alive)):
            self._service.start()
        for pod in self._world.pods():
            await self._people.unmark(pod["metadata"]["name"])
            await self._people.recover(pod["metadata"])

    async def _check_refusals_cost_nothing(self) -> None:
        """While a PodDisruptionBudget refuses what is asked for again and again, other pods go."""
        await self._native.allow(0)
        await asyncio.sleep(1)
        rng = self._world.rng("in vain")
        for budget in self._world.truth.budgets.values():
            pods = [each for each in self._world.truth.pods.values() if each.app == budget.plan.app]
            *wanted, other = rng.sample(pods, 3)
            asking = [
                asyncio.create_task(self._native.keep_evicting(each.obj["metadata"], rng))
                for each in wanted
            ]
            await asyncio.sleep(_ASKED_IN_VAIN)
            self._world.trace.note(f"a user deletes {other.name} meanwhile")
            deleting = asyncio.create_task(self._people.delete(other.name, other.uid))
            await self._until(
                lambda task=deleting: "" if task.done() else "deletion",
                _ADMITTED_WITHIN,
                f"{other.name} was deleted while {budget.plan.name} can afford it",
            )
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            await self._until(self._is_settled, _SETTLED_WITHIN, "the status is as counted")

    def _is_counted(self) -> str:
        uncounted = [
            name for name, budget in self._world.truth.budgets.items() if not budget.counted
        ]
        return ", ".join(uncounted)

    def _is_drained(self) -> str:
        for drain in self._drains:
            if drain.done():
                drain.result()
        waiting = [drain.get_name() for drain in self._drains if not drain.done()]
        return ", ".join(waiting)

    def _is_settled(self) -> str:
        pods = self._world.truth.pods.values()
        missing = sum(len(each.groups) for each in self._scenario.workloads) - len(pods)
        if missing > 0:
            return f"{missing} pods have no successor yet"
        down = [pod.name for pod in pods if not pod.available]
        return f"not available: {down}" if down else "; ".join(self._world.truth.differences())

    async def _until(self, missing: Any, within: float, what: str) -> None:
        """`missing` names what is still missing; empty once nothing is."""
        left = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while left := missing():
                    await asyncio.sleep(0.5)
                return
        raise Stuck(f"after {within:g} s it does not hold that {what}: {left}")
