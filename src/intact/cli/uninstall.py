"""`intact uninstall`."""

import asyncio
import sys

import click

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.operator.install.groups import Fate
from intact.operator.install.survey import Survey, survey
from intact.operator.install.uninstall import uninstall as remove


def uninstall(
    cluster: Cluster,
    namespace: str,
    *,
    crds: bool,
    delete_groups: bool,
    orphan_groups: bool,
    leave_to_helm: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    if crds and leave_to_helm:
        raise click.UsageError("--crds and --leave-to-helm exclude each other")
    if delete_groups and orphan_groups:
        raise click.UsageError("--delete-groups and --orphan-groups exclude each other")
    if (delete_groups or orphan_groups) and not crds:
        option = "--delete-groups" if delete_groups else "--orphan-groups"
        raise click.UsageError(f"{option} needs --crds: without it all RoleBasedGroups stay")
    fate = Fate.DELETE if delete_groups else Fate.ORPHAN if orphan_groups else Fate.KEEP
    asyncio.run(
        _uninstall(
            cluster,
            namespace,
            crds=crds,
            fate=fate,
            leave_to_helm=leave_to_helm,
            dry_run=dry_run,
            yes=yes,
        )
    )


async def _uninstall(
    cluster: Cluster,
    namespace: str,
    *,
    crds: bool,
    fate: Fate,
    leave_to_helm: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    # A process outside the cluster has used the namespace of the context.
    async with session(cluster) as (client, outside):
        found = await survey(
            client,
            namespace,
            outside=outside,
            crds=crds,
            fate=fate,
            leave_to_helm=leave_to_helm,
        )
        if dry_run or not yes:
            _show(found)
        if found.refusal:
            raise click.ClickException(found.refusal)
        if dry_run:
            return
        if not yes:
            _ask()
        await remove(
            client,
            namespace,
            outside=outside,
            crds=crds,
            fate=fate,
            agreed=found,
            leave_to_helm=leave_to_helm,
            say=click.echo,
        )


def _show(found: Survey) -> None:
    for title, lines in (("would go", found.goes), ("would stay", found.stays)):
        click.echo(f"{title}:" if lines else f"{title}: nothing")
        for line in lines:
            click.echo(f"  {line}")


def _ask() -> None:
    """Nothing has been removed yet."""
    if not _is_terminal():
        raise click.ClickException(
            "nothing was removed: there is no terminal to ask on. Give --yes to remove all this, "
            "or --dry-run only to list it"
        )
    click.confirm("Remove all this?", abort=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty()
