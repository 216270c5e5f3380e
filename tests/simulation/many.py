"""Many runs, in several processes."""

import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context

from tests.simulation.scenario import Scenario, scenario
from tests.simulation.simulate import Failed, Outcome, simulate

Make = Callable[[int], Scenario]


def simulate_all(
    seeds: Iterable[int], make: Make = scenario, processes: int = 2
) -> Iterator[Outcome | str]:
    """The outcomes as they come; for a run that failed, its message."""
    jobs = [(seed, make) for seed in seeds]
    with get_context("spawn").Pool(processes, _begin) as pool:
        yield from pool.imap_unordered(_attempt, jobs)


def _begin() -> None:
    # No log lines of operators in trouble, of which there are thousands. Each run collects its
    # garbage: freezing keeps that from looking at all that was imported.
    logging.disable(logging.ERROR)
    gc.freeze()


def _attempt(job: tuple[int, Make]) -> Outcome | str:
    seed, make = job
    try:
        return simulate(seed, make)
    except Failed as failure:
        return str(failure)
