"""`intact rbg restart`: makes all pods of a RoleBasedGroup, or of some roles, anew."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import click

from intact.cli.options import Cluster
from intact.cli.rbg.coordinated import coordinated
from intact.cli.rbg.editing import Json, edit
from intact.cli.rbg.session import group_session
from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.times import timestamp

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
"""Annotation of templates, as `kubectl rollout restart` writes it."""


def restart(name: str, roles: Sequence[str], cluster: Cluster) -> None:
    asyncio.run(_restart(name, roles, cluster))


async def _restart(name: str, roles: Sequence[str], cluster: Cluster) -> None:
    async with group_session(cluster, name) as (client, where):
        click.echo(await restart_in(client, where, name, roles, datetime.now(UTC)))


async def restart_in(
    client: Client, namespace: str, name: str, roles: Sequence[str], now: datetime
) -> str:
    """Of these roles; of all if none is named. Returns what was done."""
    which = f"RoleBasedGroup {namespace}/{name}"
    group = await client.get(RBGS, name, namespace)
    known = [role.name for role in group.spec.roles]
    for role in roles:
        if role not in known:
            raise click.ClickException(
                f"{which} has no role {role!r}; its roles: {', '.join(known)}"
            )
    chosen = [role for role in known if not roles or role in roles]
    held = [role for role in chosen if role in coordinated(group)]
    if group.spec.paused and held:
        raise click.ClickException(
            f"{which} is paused, which holds {', '.join(held)}: `intact rbg resume {name}` first"
        )
    at = timestamp(now)
    if not await edit(client, namespace, name, lambda spec: restarted(spec, chosen, at)):
        raise click.ClickException(f"{which} was restarted within this second already")
    return f"{which} restarts {', '.join(chosen)}"


def restarted(spec: Json, chosen: Collection[str], at: str) -> Json:
    """The spec with templates that differ from the present ones in nothing else."""
    roles = [_restarted(one, at) if one["name"] in chosen else one for one in spec["roles"]]
    return spec | {"roles": roles}


def _restarted(role: Json, at: str) -> Json:
    part = "templatePatch" if role.get("templateRef") else "template"
    template = role.get(part) or {}
    meta = template.get("metadata") or {}
    annotations = (meta.get("annotations") or {}) | {RESTARTED_AT: at}
    return role | {part: template | {"metadata": meta | {"annotations": annotations}}}
