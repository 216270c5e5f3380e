"""From a snapshot and some work to a report, in simulated time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from intact.kube.errors import KubeError
from intact.sandbox.loop import run
from intact.sandbox.rehearsal.reasons import Reasons
from intact.sandbox.rehearsal.recording import Recording
from intact.sandbox.rehearsal.report import Going, NodeReport, Report, StartTime
from intact.sandbox.rehearsal.stage import Options, Stage, staged
from intact.sandbox.snapshot.document import Snapshot


class RehearsalError(Exception):
    """The work cannot be rehearsed on this cluster."""


@dataclass(frozen=True, slots=True)
class Outcome:
    done: bool
    nodes: Sequence[NodeReport] = field(default_factory=list)


Work = Callable[[Stage], Awaitable[Outcome]]


def rehearse(
    snapshot: Snapshot,
    action: str,
    work: Work,
    options: Options,
    *,
    intact: bool,
    recording: Recording | None = None,
) -> Report:
    """`recording`: records the work, and what follows from it. Raises `RehearsalError`."""
    found = run(_rehearse(snapshot, action, work, options, recording, intact=intact))
    if isinstance(found, KubeError):
        raise RehearsalError(str(found)) from found
    return found


async def _rehearse(
    snapshot: Snapshot,
    action: str,
    work: Work,
    options: Options,
    recording: Recording | None,
    *,
    intact: bool,
) -> Report | KubeError:
    async with staged(snapshot, options, intact=intact) as stage:
        if recording is not None:
            recording.begin(stage, snapshot, action)
        ended = "done"
        outcome = Outcome(done=False)
        try:
            async with asyncio.timeout(options.horizon):
                outcome = await work(stage)
        except TimeoutError:
            ended, outcome = "horizon", Outcome(done=False, nodes=stage.nodes())
        except KubeError as error:
            return error  # raised from here, it would be one of a group
        took = stage.now()
        if ended == "done" and not outcome.done:
            ended = "still"
        else:
            await stage.recover()
        stage.observer.finish()
        if recording is not None:
            recording.end()
        return _report(stage, action, outcome, ended, took)


def _report(stage: Stage, action: str, outcome: Outcome, ended: str, took: float) -> Report:
    reasons = Reasons(stage)
    never, unplaced = reasons.never(), reasons.unplaced()
    last = _last_change(stage)
    return Report(
        action=action,
        intact=stage.intact,
        goes_through=outcome.done and not never and not unplaced,
        ended=ended,
        took=took if ended == "done" else min(took, last),
        recovered=max(took, last) if ended == "done" else last,
        nodes=list(outcome.nodes),
        pods=_going(stage),
        budgets=stage.observer.budgets(),
        groups=stage.observer.groups(),
        never=never,
        unplaced=unplaced,
        lost=reasons.lost(),
        start_times=[
            StartTime(str(each.workload), each.seconds, each.source, each.pods)
            for each in stage.times.used()
        ],
        notes=stage.notes,
    )


def _last_change(stage: Stage) -> float:
    return max(0.0, stage.since_begun(stage.observer.last_change))


def _going(stage: Stage) -> list[Going]:
    return [
        Going(
            at=stage.since_begun(at),
            namespace=pod["metadata"]["namespace"],
            pod=pod["metadata"]["name"],
            node=pod["spec"].get("nodeName", ""),
            workload=str(stage.owners.workload_of(pod)),
            attempts=stage.steps.attempts(pod["metadata"]["uid"]),
        )
        for at, pod in stage.observer.ended
    ]
