"""`intact rbg history`: the templates that a RoleBasedGroup has had."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from intact.cli.options import Cluster
from intact.cli.output import DOCUMENTS, age_of, document
from intact.cli.rbg.changes import Json, changed_roles, images
from intact.cli.rbg.revisions import revisions_of
from intact.cli.rbg.session import group_session
from intact.cli.tables import table
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.resources import REVISIONS
from intact.operator.rbg.templates import resolved
from intact.rollout.revisions import group_hash, previous, revision_of, role_hashes


def history(name: str, revision: int | None, cluster: Cluster, output: str) -> None:
    group, stored = asyncio.run(_read(name, cluster))
    which = f"RoleBasedGroup {group.metadata.namespace}/{name}"
    found = entries(group, stored)
    if revision is not None:
        try:
            previous(map(revision_of, stored), "", revision)
        except LookupError as error:
            raise click.ClickException(f"{which}: {error.args[0]}") from None
        stored = [one for one in stored if one.revision == revision]
        found = [one for one in found if one["revision"] == revision]
        click.echo(_one(which, found[0], stored[0], output))
        return
    if output in DOCUMENTS:
        click.echo(document({"items": found}, output))
    elif output == "name":
        for one in found:
            click.echo(f"{REVISIONS.kind.lower()}.{REVISIONS.group}/{one['name']}")
    elif found:
        click.echo("\n".join(rows(found, datetime.now(UTC), wide=output == "wide")))
    if not is_kept(group, stored):
        click.echo(f"{which}: Intact has made no revision of the present templates yet", err=True)


async def _read(name: str, cluster: Cluster) -> tuple[RoleBasedGroup, list[ControllerRevision]]:
    async with group_session(cluster, name) as (client, where):
        group = await client.get(RBGS, name, where)
        return group, await revisions_of(client, group)


def is_kept(group: RoleBasedGroup, stored: Sequence[ControllerRevision]) -> bool:
    """Whether there is a revision of the present templates."""
    present = group_hash(role_hashes(resolved(group)))
    return any(revision_of(one).hash == present for one in stored)


def entries(group: RoleBasedGroup, stored: Sequence[ControllerRevision]) -> list[Json]:
    """Oldest first. Each is compared with the one before it."""
    status = group.status
    found: list[Json] = []
    before: Json | None = None
    for one in stored:
        roles = one.data.get("roles", {})
        found.append(
            {
                "revision": one.revision,
                "name": one.metadata.name,
                "hash": revision_of(one).hash,
                "created": one.metadata.creation_timestamp,
                "current": one.metadata.name == status.current_revision,
                "update": one.metadata.name == status.update_revision,
                "changed": changed_roles(before, roles),
                "images": {name: images(role) for name, role in roles.items()},
            }
        )
        before = roles
    return found


def rows(found: Sequence[Json], now: datetime, *, wide: bool = False) -> list[str]:
    heads = ["REVISION", "NAME", "AGE", "STATE", "CHANGED", *(["IMAGES"] if wide else [])]
    lines = [heads]
    for one in found:
        state = ", ".join(word for word in ("current", "update") if one[word])
        cells = [
            str(one["revision"]),
            one["name"],
            age_of(one["created"], now),
            state or "-",
            "; ".join(f"{role}: {said}" for role, said in one["changed"].items()) or "-",
        ]
        if wide:
            of_roles = one["images"].items()
            cells.append("; ".join(f"{role}: {', '.join(those)}" for role, those in of_roles))
        lines.append(cells)
    return table(lines)


def _one(which: str, entry: Json, stored: ControllerRevision, output: str) -> str:
    """A revision with its templates."""
    if output == "name":
        return f"{REVISIONS.kind.lower()}.{REVISIONS.group}/{entry['name']}"
    roles = stored.data.get("roles", {})
    if output in DOCUMENTS:
        return document({**entry, "roles": roles}, output)
    head = f"# {which}, revision {entry['revision']} ({entry['name']})"
    return f"{head}\n{document({'roles': roles}, 'yaml')}"
