"""`intact rbg undo`: goes back to an earlier revision, in all roles together."""

import asyncio

import click

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.pod_state import controller_uid
from intact.operator.rbg.resources import REVISIONS
from intact.operator.rbg.rollback import roll_back
from intact.operator.rbg.templates import resolved
from intact.rollout.names import GROUP
from intact.rollout.revisions import group_hash, previous, revision_of, role_hashes


def undo(name: str, to_revision: int | None, cluster: Cluster) -> None:
    asyncio.run(_undo(name, to_revision, cluster))


async def _undo(name: str, to_revision: int | None, cluster: Cluster) -> None:
    async with session(cluster) as (client, where):
        click.echo(await undo_in(client, where, name, to_revision))


async def undo_in(client: Client, namespace: str, name: str, to_revision: int | None) -> str:
    """Returns what was done."""
    which = f"RoleBasedGroup {namespace}/{name}"
    group = await client.get(RBGS, name, namespace)
    stored = await client.list(REVISIONS, namespace, labels=f"{GROUP}={name}")
    known = [revision_of(one) for one in stored.items if controller_uid(one) == group.metadata.uid]
    try:
        chosen = previous(known, group_hash(role_hashes(resolved(group))), to_revision)
    except LookupError as error:
        raise click.ClickException(f"{which}: {error.args[0]}") from None
    if await roll_back(client, namespace, name, chosen.name):
        return f"{which} goes back to revision {chosen.number} ({chosen.name})"
    return f"{which} already has the templates of revision {chosen.number}"
