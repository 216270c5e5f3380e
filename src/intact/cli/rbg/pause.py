"""`intact rbg pause` and `resume`: hold the coordinated roles of a RoleBasedGroup where they are,
and let them go on."""

import asyncio

import click

from intact.cli.options import Cluster
from intact.cli.rbg.coordinated import coordinated, others
from intact.cli.rbg.editing import edit
from intact.cli.rbg.session import group_session
from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup
from intact.rollout.coordinations import ROLLING_UPDATE


def pause(name: str, cluster: Cluster, *, paused: bool) -> None:
    """Or resume."""
    asyncio.run(_pause(name, cluster, paused=paused))


async def _pause(name: str, cluster: Cluster, *, paused: bool) -> None:
    async with group_session(cluster, name) as (client, where):
        said, warning = await pause_in(client, where, name, paused=paused)
    click.echo(said)
    if warning:
        click.echo(f"Warning: {warning}", err=True)


async def pause_in(client: Client, namespace: str, name: str, *, paused: bool) -> tuple[str, str]:
    """What was done, and what it does not do."""
    which = f"RoleBasedGroup {namespace}/{name}"
    group = await client.get(RBGS, name, namespace)
    changed = False
    if group.spec.paused != paused:
        changed = await edit(
            client, namespace, name, lambda spec: _with_paused(spec, paused=paused)
        )
    if not paused:
        return f"{which} is resumed" if changed else f"{which} is not paused", ""
    said = f"{which} is paused" if changed else f"{which} is paused already"
    held = coordinated(group)
    if held:
        said += f": {_moves(held)} to another revision"
    return said, _not_held(group)


def _with_paused(spec: dict[str, object], *, paused: bool) -> dict[str, object]:
    return spec if bool(spec.get("paused")) == paused else spec | {"paused": paused}


def _moves(roles: list[str]) -> str:
    return f"{', '.join(roles)} {'does' if len(roles) == 1 else 'do'} not move"


def _not_held(group: RoleBasedGroup) -> str:
    free = others(group)
    if not coordinated(group):
        return (
            f"{group.metadata.name} has no coordination of type {ROLLING_UPDATE}, so this holds "
            f"nothing: {', '.join(free)} update by themselves, as their workloads do"
        )
    if free:
        by = "updates by itself" if len(free) == 1 else "update by themselves"
        return f"this does not hold {', '.join(free)}, in no {ROLLING_UPDATE} coordination: {by}"
    return ""
