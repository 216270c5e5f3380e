"""What happens to the operators and the API: deaths, trouble with watches, restores of a backup."""

import asyncio

from tests.simulation.cluster import Cluster
from tests.simulation.network import watches_of
from tests.simulation.operators import Service
from tests.simulation.world import World


async def kill_operators(world: World, service: Service, pause: float) -> None:
    """A dead operator is replaced after a while; sometimes none is left until then."""
    rng = world.rng("deaths")
    async with asyncio.TaskGroup() as group:
        while True:
            await asyncio.sleep(rng.expovariate(1 / pause))
            alive = service.alive
            leaders = [operator for operator in alive if operator.election.leads]
            if leaders and rng.random() < 0.6:
                alive = leaders
            if alive:
                rng.choice(alive).kill()
                group.create_task(_replace(service, rng.uniform(0.5, 12)))


async def _replace(service: Service, after: float) -> None:
    await asyncio.sleep(after)
    service.start()


async def trouble_watches(world: World, service: Service) -> None:
    rng, faults = world.rng("storms"), world.api.faults
    if not world.scenario.weather.storms:
        return
    while True:
        await asyncio.sleep(rng.expovariate(world.scenario.weather.storms))
        if not service.alive:
            continue
        name = rng.choice(service.alive).name
        plural = rng.choice(("/pods", "/pods", "/podunavailablebudgets", ""))
        match rng.choice(("break", "midway", "hold", "hold", "expire")):
            case "hold":
                world.trace.note(f"watches of {name} on {plural} are held")
                faults.hold_watches(watches_of(name, plural))
                await asyncio.sleep(rng.choice((2, 8, 40)) * rng.random())
                world.trace.note("watches are released")
                faults.release_watches()
            case "expire":
                world.trace.note("old versions expire")
                faults.expire()
                faults.break_watches(watches_of(name))
            case how:
                world.trace.note(f"watches of {name} on {plural} break")
                faults.break_watches(watches_of(name, plural), midway=how == "midway")


async def restore_backups(world: World, cluster: Cluster, pause: float) -> None:
    """The API goes back to a backup that is some seconds old, with its resource versions."""
    rng = world.rng("backups")
    while True:
        await asyncio.sleep(rng.expovariate(1 / pause))
        backup, memory = world.api.snapshot(), world.truth.snapshot()
        world.trace.note(f"a backup is made at {backup.revision}")
        await asyncio.sleep(rng.choice((1, 5, 25)) * rng.random())
        world.trace.note(f"the backup is restored: from {world.api.revision} to {backup.revision}")
        world.trace.count("restores")
        world.api.restore(backup)
        world.truth.restored(memory)
        cluster.restored()
