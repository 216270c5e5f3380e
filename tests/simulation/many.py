"""Many runs, in several processes."""

import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context

from tests.simulation.group_truth import TooManyDown
from tests.simulation.groups import Course, simulate_groups
from tests.simulation.groups import Stuck as NotDrained
from tests.simulation.rbg.course import course
from tests.simulation.rbg.simulate import Make as MakeCourse
from tests.simulation.rbg.simulate import simulate_rbg
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


def simulate_all_groups(seeds: Iterable[int], processes: int = 2) -> Iterator[str]:
    """Of native budgets in groups: empty for each run as it ends; if it failed, its message."""
    with get_context("spawn").Pool(processes, _begin) as pool:
        yield from pool.imap_unordered(_attempt_groups, seeds)


def simulate_all_rbg(
    seeds: Iterable[int], make: MakeCourse = course, processes: int = 2
) -> Iterator[Outcome | str]:
    """Of RoleBasedGroups: the outcomes as they come; for a run that failed, its message."""
    jobs = [(seed, make) for seed in seeds]
    with get_context("spawn").Pool(processes, _begin) as pool:
        yield from pool.imap_unordered(_attempt_rbg, jobs)


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


def _attempt_rbg(job: tuple[int, MakeCourse]) -> Outcome | str:
    seed, make = job
    try:
        return simulate_rbg(seed, make)
    except Failed as failure:
        return str(failure)


def _attempt_groups(seed: int) -> str:
    gc.collect()
    try:
        simulate_groups(Course(seed))
    except (TooManyDown, NotDrained) as failure:
        return f"groups, seed {seed}: {type(failure).__name__}: {failure}"
    except BaseExceptionGroup as failures:
        return f"groups, seed {seed}: {failures!r}"
    return ""
