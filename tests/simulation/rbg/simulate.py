"""One run: a seed in, what happened out, or a failure with its course and its last events."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress

from intact.sandbox import Deadlock, LimitReached, SimulatedLoop
from tests.simulation.rbg.course import NAMESPACE, Course, course
from tests.simulation.rbg.edits import Users
from tests.simulation.rbg.kubelet import Kubelet
from tests.simulation.rbg.operators import Operators
from tests.simulation.rbg.others import Others
from tests.simulation.rbg.rest import differences
from tests.simulation.rbg.truth import Truth, Violation
from tests.simulation.rbg.world import World
from tests.simulation.scenario import CALM
from tests.simulation.simulate import Failed, Outcome, Stuck
from tests.support.objects import NAMESPACES
from tests.support.rbg_waiting import GROUPS

_MOST_STEPS = 200_000
"""Some ten times as many as a run takes."""
_MADE_WITHIN = 120.0
_AT_REST_WITHIN = 600.0
"""Simulated seconds. A rollout takes one pod after the other, and a new leader takes a while."""

Make = Callable[[int], Course]


def simulate_rbg(seed: int, make: Make = course) -> Outcome:
    # The tasks of a run refer to one another: uncollected, they slow down the next runs.
    gc.collect()
    world = World(make(seed))
    truth = Truth(world)
    loop = SimulatedLoop(seed, on_step=truth.observe, max_steps=_MOST_STEPS)
    try:
        loop.run_until_complete(_Run(world, truth).main())
    except (Violation, Stuck, LimitReached, Deadlock) as error:
        raise Failed(_explain(world, error)) from error
    finally:
        loop.close()
    counts = world.trace.counts
    counts["simulated seconds"] = int(loop.time())
    return Outcome(seed, loop.steps, world.trace.digest, counts)


def _explain(world: World, error: Exception) -> str:
    lines = [
        f"RoleBasedGroup, seed {world.course.seed}: {type(error).__name__}: {error}",
        str(world.course),
        f"at first: {world.course.body['spec']}",
        *world.edits,
        "the last events:",
        *world.trace.last,
    ]
    return "\n".join(lines)


class _Run:
    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self._kubelet = Kubelet(world)
        self._operators = Operators(world)
        self._users = Users(world)
        self._others = Others(world, self._truth, self._kubelet)

    async def main(self) -> None:
        running = [
            asyncio.create_task(one.run(), name=type(one).__name__)
            for one in (*self._world.controllers(), self._kubelet)
        ]
        playing = asyncio.create_task(self._play(), name="play")
        done, _ = await asyncio.wait({playing, *running}, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()

    async def _play(self) -> None:
        world = self._world
        await world.user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        await world.user.create(GROUPS, world.course.body, NAMESPACE)
        for _ in range(world.course.operators):
            self._operators.start()
        trouble = [asyncio.create_task(self._operators.replace_dead(), name="replace the dead")]
        if world.rng("begin").random() < 0.8:
            await self._until_rest(_MADE_WITHIN)
        self._operators.doom()
        trouble.append(asyncio.create_task(self._others.run(), name="others"))
        rng = world.rng("edits")
        for _ in range(world.course.edits):
            await asyncio.sleep(rng.expovariate(1 / world.course.pause))
            await self._users.act()
        await asyncio.sleep(rng.uniform(0, 20))
        for task in trouble:
            task.cancel()
        await asyncio.gather(*trouble, return_exceptions=True)
        world.say("everything heals")
        world.weather = CALM
        world.api.faults.heal()
        self._operators.spare()
        await self._users.heal()
        await self._until_rest(_AT_REST_WITHIN)

    async def _until_rest(self, within: float) -> None:
        left = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while left := differences(self._world, self._truth):
                    await asyncio.sleep(1)
                self._world.trace.note("at rest")
                self._truth.rest()
                return
        raise Stuck(f"not at rest after {within:g} s: {left}")
