"""`intact rbg undo`: back to an earlier revision, all roles together."""

import asyncio

import click

from intact.cli.session import asking
from intact.kube.resources import RBGS
from intact.operator.rbg.evictions import roll_back
from intact.operator.rbg.resources import REVISIONS
from intact.operator.rbg.revisions import revision_of, role_hashes
from intact.rollout.names import GROUP
from intact.rollout.revisions import group_hash, previous


def undo(
    name: str,
    to_revision: int | None,
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
) -> None:
    asyncio.run(_undo(name, to_revision, kubeconfig, context, namespace))


async def _undo(
    name: str,
    to_revision: int | None,
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
) -> None:
    async with asking(kubeconfig, context, namespace) as (client, where):
        group = await client.get(RBGS, name, where)
        stored = await client.list(REVISIONS, where, labels=f"{GROUP}={name}")
        known = [
            revision_of(one)
            for one in stored.items
            if any(owner.uid == group.metadata.uid for owner in one.metadata.owner_references)
        ]
        try:
            chosen = previous(known, group_hash(role_hashes(group)), to_revision)
        except LookupError as error:
            raise click.ClickException(f"group {name}: {error.args[0]}") from None
        if await roll_back(client, where, name, chosen.name):
            click.echo(f"group {name} goes back to revision {chosen.number} ({chosen.name})")
        else:
            click.echo(f"group {name} has the templates of revision {chosen.number} already")
