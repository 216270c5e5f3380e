"""`intact rbg undo`: goes back to an earlier revision, in all roles together."""

import asyncio

import click
import msgspec

from intact.cli.options import Cluster
from intact.cli.rbg.coordinated import held_until_resumed
from intact.cli.rbg.editing import Json, edit
from intact.cli.rbg.revisions import revisions_of
from intact.cli.rbg.session import group_session
from intact.kube.client import Client
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.rollback import earlier_spec
from intact.operator.rbg.templates import resolved
from intact.rollout.revisions import group_hash, previous, revision_of, role_hashes


def undo(name: str, to_revision: int | None, cluster: Cluster) -> None:
    asyncio.run(_undo(name, to_revision, cluster))


async def _undo(name: str, to_revision: int | None, cluster: Cluster) -> None:
    async with group_session(cluster, name) as (client, where):
        click.echo(await undo_in(client, where, name, to_revision))


async def undo_in(client: Client, namespace: str, name: str, to_revision: int | None) -> str:
    """Returns what was done."""
    which = f"RoleBasedGroup {namespace}/{name}"
    group = await client.get(RBGS, name, namespace)
    stored = await revisions_of(client, group)
    present = _hash(group)
    try:
        chosen = previous(map(revision_of, stored), present, to_revision)
    except LookupError as error:
        raise click.ClickException(f"{which}: {error.args[0]}") from None
    [data] = [one.data for one in stored if one.metadata.name == chosen.name]

    def change(spec: Json) -> Json:
        live = {"metadata": msgspec.to_builtins(group.metadata), "spec": spec}
        # The revision was chosen for the templates that this command began with.
        if _hash(msgspec.convert(live, RoleBasedGroup)) != present:
            raise click.ClickException(
                f"{which}: its templates were changed in this moment, and nothing was undone; "
                f"see `intact rbg history {name} -n {namespace}`"
            )
        return earlier_spec(live, data)

    if await edit(client, namespace, name, change):
        said = f"{which} goes back to revision {chosen.number} ({chosen.name})"
        return said + held_until_resumed(group)
    return f"{which} already has the templates of revision {chosen.number}"


def _hash(group: RoleBasedGroup) -> str:
    return group_hash(role_hashes(resolved(group)))
