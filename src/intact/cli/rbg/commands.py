"""The commands about RoleBasedGroups, with their options. Their work is imported when they run."""

import click

from intact.cli.options import Cluster, group_options, output_option
from intact.cli.rbg.names import GroupName

_NAME = click.argument("name", type=GroupName())


@click.group()
def rbg() -> None:
    """RoleBasedGroups: show, pause, restart and undo them, and plan their rollouts.

    NAME may also be written as rbg/NAME.
    """


@rbg.command()
@click.argument("source", metavar="FILE|NAME")
@group_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the rounds.",
)
def plan(source: str, cluster: Cluster, output: str) -> None:
    """Print the rounds that a rollout of a group would take.

    The group is read from a FILE (or - for standard input), without a cluster, or from the cluster
    by its NAME.
    """
    from intact.cli.files import is_file
    from intact.cli.rbg import plan as command

    if not is_file(source):
        source = GroupName().convert(source, None, None)
        command.plan_stored(source, cluster, output)
    else:
        command.plan_file(source, output)


@rbg.command()
@_NAME
@click.option(
    "--to-revision",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of the revision; else the one before the present.",
)
@group_options
def undo(name: str, to_revision: int | None, cluster: Cluster) -> None:
    """Give a group the templates of an earlier revision, all its roles together."""
    from intact.cli.rbg import undo as command

    command.undo(name, to_revision, cluster)


@rbg.command()
@_NAME
@click.option(
    "--revision",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the templates of this revision.",
)
@group_options
@output_option
def history(name: str, revision: int | None, cluster: Cluster, output: str) -> None:
    """List the revisions of a group: which roles each has changed, and which is in use."""
    from intact.cli.rbg import history as command

    command.history(name, revision, cluster, output)


@rbg.command()
@_NAME
@group_options
def pause(name: str, cluster: Cluster) -> None:
    """Hold the rollout of a group where it is.

    It holds the roles in RollingUpdate coordinations. Other roles update by themselves.
    """
    from intact.cli.rbg import pause as command

    command.pause(name, cluster, paused=True)


@rbg.command()
@_NAME
@group_options
def resume(name: str, cluster: Cluster) -> None:
    """Let a paused group go on."""
    from intact.cli.rbg import pause as command

    command.pause(name, cluster, paused=False)


@rbg.command()
@_NAME
@click.option(
    "--role",
    "roles",
    metavar="ROLE",
    multiple=True,
    help="Restart this role only. May be repeated.",
)
@group_options
def restart(name: str, roles: tuple[str, ...], cluster: Cluster) -> None:
    """Make the pods of a group anew, by the rules of its coordinations."""
    from intact.cli.rbg import restart as command

    command.restart(name, roles, cluster)


@rbg.command()
@click.argument("name", type=GroupName(), required=False)
@click.option(
    "-A", "--all-namespaces", is_flag=True, help="List the groups of all namespaces; without NAME."
)
@click.option(
    "-w", "--watch", is_flag=True, help="Follow the groups until none is in progress any more."
)
@group_options
@output_option
def status(
    name: str | None, all_namespaces: bool, watch: bool, cluster: Cluster, output: str
) -> None:
    """Show a group with its roles, or list the groups of a namespace.

    The exit code says how it stands, in a list how the most urgent one stands: 0 done, 3 in
    progress or not ready, 4 stalled, 5 paused or held by a partition.
    """
    from intact.cli.rbg import status as command

    if name and all_namespaces:
        raise click.UsageError("a NAME is in one namespace: give NAME or -A, not both")
    command.status(name or "", cluster, everywhere=all_namespaces, watch=watch, output=output)
