"""`intact rbg status`: shows a RoleBasedGroup as a tree; the exit code says how far it is."""

import asyncio
import sys
from enum import IntEnum

import click

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup, RoleProgress, RoleStatus
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.resources import REVISIONS
from intact.rollout.names import GROUP, REVISION
from intact.rollout.plan import State
from intact.rollout.progress import urgency

_BAR = 20


class Standing(IntEnum):
    """How far a RoleBasedGroup is; the value is the exit code. 1 and 2 are errors of the command
    itself."""

    DONE = 0
    IN_PROGRESS = 3
    STALLED = 4
    PAUSED = 5


def status(name: str, cluster: Cluster, *, watch: bool) -> None:
    standing = asyncio.run(_status(name, cluster, watch=watch))
    sys.exit(standing)


async def _status(name: str, cluster: Cluster, *, watch: bool) -> Standing:
    async with session(cluster) as (client, where):
        group = await client.get(RBGS, name, where)
        screen = _Screen()
        screen.show(lines(group, await _revisions(client, group)))
        while watch and standing(group) is Standing.IN_PROGRESS:
            group = await _next(client, group)
            screen.show(lines(group, await _revisions(client, group)))
        return standing(group)


async def _next(client: Client, group: RoleBasedGroup) -> RoleBasedGroup:
    """The RoleBasedGroup after its next change. A watch that ends is opened again."""
    meta = group.metadata
    while True:
        async with client.watch(
            RBGS,
            meta.namespace,
            resource_version=meta.resource_version,
            fields=f"metadata.name={meta.name}",
        ) as events:
            async for event in events:
                if event.type == "DELETED":
                    raise click.ClickException(
                        f"RoleBasedGroup {meta.namespace}/{meta.name} was deleted"
                    )
                if event.object is not None:
                    return event.object


async def _revisions(client: Client, group: RoleBasedGroup) -> list[ControllerRevision]:
    meta = group.metadata
    labels = f"{REVISION},{GROUP}={meta.name}"
    return (await client.list(REVISIONS, meta.namespace, labels=labels)).items


def standing(group: RoleBasedGroup) -> Standing:
    status = group.status
    conditions = {one.type: one.status for one in status.conditions}
    states = {one.state for each in status.coordination_state for one in each.progress.values()}
    if status.observed_generation != group.metadata.generation:
        return Standing.IN_PROGRESS  # the conditions speak of what was wanted before
    if conditions.get("Stalled") == "True":
        return Standing.STALLED
    if conditions.get("Ready") != "True":
        return Standing.IN_PROGRESS
    if states & {State.UPDATING, State.WAITING, State.ROLLING_BACK}:
        return Standing.IN_PROGRESS
    progressing = status.condition("Progressing")
    held_alone = progressing is not None and progressing.reason == State.PAUSED
    if held_alone or (State.PAUSED in states and conditions.get("Progressing") != "True"):
        return Standing.PAUSED
    updated = all(one.updated_ready_replicas >= one.desired for one in status.role_statuses)
    return Standing.DONE if updated else Standing.IN_PROGRESS


_WORDS = {
    Standing.DONE: "done",
    Standing.IN_PROGRESS: "in progress",
    Standing.STALLED: "stalled",
    Standing.PAUSED: "paused",
}


def lines(group: RoleBasedGroup, revisions: list[ControllerRevision]) -> list[str]:
    meta, status = group.metadata, group.status
    numbers = {one.metadata.name: one.revision for one in revisions}
    word = _WORDS[standing(group)]
    revision = f"revision {_revision(status.update_revision, numbers)}"
    if status.current_revision not in ("", status.update_revision):
        revision += f", from {_revision(status.current_revision, numbers)}"
    counts = f"ready {status.ready or '-'}, updated {status.updated or '-'}"
    found = [f"{meta.namespace}/{meta.name}: {word}, {counts}", revision]
    kinds = {role.name: role.workload.kind for role in group.spec.roles}
    progress: dict[str, RoleProgress] = {}
    for state in status.coordination_state:
        for name, one in state.progress.items():
            if name not in progress or urgency(one) < urgency(progress[name]):
                progress[name] = one
    width = max((len(one.name) for one in status.role_statuses), default=0)
    for index, role in enumerate(status.role_statuses):
        last = index == len(status.role_statuses) - 1
        found += _role(role, kinds.get(role.name, ""), progress.get(role.name), width, last=last)
    found += [
        f"{one.type}: {one.message}"
        for one in status.conditions
        if one.message and (one.type, one.status) in (("Ready", "False"), ("Stalled", "True"))
    ]
    return found


def _revision(name: str, numbers: dict[str, int]) -> str:
    return f"{numbers[name]} ({name})" if name in numbers else name or "-"


def _role(
    role: RoleStatus, kind: str, progress: RoleProgress | None, width: int, *, last: bool
) -> list[str]:
    branch, trunk = ("└─ ", "   ") if last else ("├─ ", "│  ")
    done = bar(role.updated_ready_replicas, role.updated_replicas, role.desired)
    text = f"{branch}{role.name:<{width}}  {done}  {role.updated_replicas}/{role.desired} updated"
    state = f"  {progress.state}" if progress else ""
    found = [f"{text}, {role.ready_replicas} ready{state}  ({kind}, {role.revision})"]
    if progress and progress.partition:
        found.append(f"{trunk}  {progress.partition} stay as they are")
    if waits := role.message or (progress.waiting_for if progress else ""):
        since = f" (since {progress.since})" if progress and progress.since else ""
        found.append(f"{trunk}  waits for: {waits.removeprefix('waits for ')}{since}")
    return found


def bar(ready: int, updated: int, desired: int) -> str:
    """Full for updated and ready replicas, half for updated ones that are not ready."""
    if desired <= 0:
        return "█" * _BAR
    done = min(_BAR, ready * _BAR // desired)
    begun = min(_BAR, updated * _BAR // desired) - done
    return "█" * done + "▒" * max(0, begun) + "░" * (_BAR - done - max(0, begun))


class _Screen:
    """In a terminal each picture replaces the last one; elsewhere it is appended."""

    def __init__(self) -> None:
        self._last: list[str] = []

    def show(self, picture: list[str]) -> None:
        if picture == self._last:
            return
        if self._last and sys.stdout.isatty():
            click.echo(f"\x1b[{len(self._last)}A\x1b[J", nl=False)
        elif self._last:
            click.echo("")
        for line in picture:
            click.echo(line)
        self._last = picture
