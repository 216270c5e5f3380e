"""Rehearsals for tests: of a small cluster, on its copy."""

from collections.abc import Awaitable, Callable, Sequence

from intact.sandbox.loop import run
from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.report import BudgetReport, Report
from intact.sandbox.rehearsal.stage import Options, Stage, staged
from tests.support.small_clusters import SmallCluster


def drained(
    made: SmallCluster, *nodes: str, parallel: int = 1, options: Options | None = None
) -> Report:
    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        done = await drains.run(nodes, parallel)
        return Outcome(done, drains.reports(nodes))

    return rehearse(made.snapshot(), "drain", work, options or Options(), intact=made.intact)


def on_stage(
    made: SmallCluster, work: Callable[[Stage], Awaitable[None]], options: Options | None = None
) -> None:
    async def main() -> None:
        async with staged(made.snapshot(), options or Options(), intact=made.intact) as stage:
            await work(stage)

    run(main())


def budget(report: Report, name: str) -> BudgetReport:
    [found] = [each for each in report.budgets if each.name == name]
    return found


def went(report: Report) -> Sequence[str]:
    return [each.pod for each in report.pods]
