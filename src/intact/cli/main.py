"""The command line: which commands there are, with their options.

The work of a command is in a module of its own, which is imported when the command runs: a plugin
of kubectl starts often, and `intact --help` must not wait for what it does not use.
"""

from dataclasses import replace

import click

from intact import __version__
from intact.cli.check.options import check_options
from intact.cli.drain.flags import drain_options
from intact.cli.drain.options import Options as DrainOptions
from intact.cli.durations import Duration
from intact.cli.manifests_flags import SettingsCommand
from intact.cli.options import (
    Cluster,
    Rehearsal,
    cluster_options,
    controllers_option,
    document_option,
    everywhere_option,
    given,
    group_options,
    node_selector,
    operator_namespace,
    output_option,
    rehearsal_options,
)
from intact.cli.rbg.commands import rbg
from intact.operator.names import HTTP_PORT


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="intact")
def main() -> None:
    """Keeps multi-pod replicas whole on Kubernetes."""


def plugin() -> None:
    """`kubectl intact ...`: kubectl starts `kubectl-intact`, and passes everything on."""
    main(prog_name="kubectl intact")


@main.command()
@cluster_options
@click.option(
    "--http-bind",
    metavar="HOST:PORT",
    default=f":{HTTP_PORT}",
    show_default=True,
    help="Where to serve /healthz, /readyz and /metrics. Without HOST on all addresses of the "
    "machine; port 0 takes a free one.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of log lines.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least important log lines that are written.",
)
@click.option(
    "--install", is_flag=True, help="First apply the CRDs; then serve and register the webhooks."
)
@click.option(
    "--webhook-bind",
    metavar="HOST:PORT",
    help="Where to answer admission reviews. Processes outside a cluster may share one address.",
)
@click.option(
    "--webhook-service",
    metavar="NAMESPACE/NAME",
    help="The Service in front of the webhooks; without it they are registered by URL.",
)
@click.option(
    "--webhook-client-ca",
    metavar="FILE",
    help="Answer only API servers that show a certificate of this CA.",
)
@controllers_option
@click.option(
    "--namespace-selector",
    metavar="SELECTOR",
    default="",
    help="PodUnavailableBudgets hold pods only in namespaces with these labels, such as env=prod.",
)
def run(
    cluster: Cluster,
    http_bind: str,
    log_format: str,
    log_level: str,
    install: bool,
    webhook_bind: str | None,
    webhook_service: str | None,
    webhook_client_ca: str | None,
    controllers: str,
    namespace_selector: str,
) -> None:
    """Run the operator until SIGTERM."""
    from intact.cli import run as command

    command.run(
        cluster,
        http_bind,
        log_format,
        log_level=log_level,
        install=install,
        webhook_bind=webhook_bind,
        webhook_service=webhook_service,
        webhook_client_ca=webhook_client_ca,
        controllers=controllers,
        namespace_selector=namespace_selector,
    )


@main.command(cls=SettingsCommand)
@operator_namespace
@click.option("--values", metavar="FILE", help="Values of the chart; flags override them.")
def manifests(namespace: str, values: str | None, **parameters: object) -> None:
    """Print everything that a cluster needs to run Intact, as YAML."""
    from intact.cli import manifests as command

    command.show(namespace, values, parameters)


@main.command()
@cluster_options
@operator_namespace
@click.option(
    "--crds",
    is_flag=True,
    help="Also remove the CRDs, and with them all PodUnavailableBudgets. Refused while there are "
    "RoleBasedGroups, unless one of the next two options says what becomes of them.",
)
@click.option(
    "--delete-groups",
    is_flag=True,
    help="With --crds: delete all RoleBasedGroups, their workloads and their pods.",
)
@click.option(
    "--orphan-groups",
    is_flag=True,
    help="With --crds: delete all RoleBasedGroups; their workloads run on, without an owner.",
)
@click.option(
    "--leave-to-helm",
    is_flag=True,
    help="Of the objects of the chart, delete only the Deployment: helm deletes the others. The "
    "chart's hook does this before `helm uninstall`.",
)
@click.option("--dry-run", is_flag=True, help="Only list what would go and what would stay.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def uninstall(
    cluster: Cluster,
    namespace: str,
    crds: bool,
    delete_groups: bool,
    orphan_groups: bool,
    leave_to_helm: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove Intact from a cluster, beginning with the webhook registration.

    Budgets, RoleBasedGroups and their workloads stay, unless --crds is given. Asks first.
    """
    from intact.cli import uninstall as command

    command.uninstall(
        cluster,
        namespace,
        crds=crds,
        delete_groups=delete_groups,
        orphan_groups=orphan_groups,
        leave_to_helm=leave_to_helm,
        dry_run=dry_run,
        yes=yes,
    )


@main.command()
@cluster_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="-",
    show_default=True,
    help="Where to write; compressed if the name ends in .gz. - is standard output.",
)
@click.option("--anonymize", is_flag=True, help="Replace names, labels, annotations and images.")
def snapshot(cluster: Cluster, output: str, anonymize: bool) -> None:
    """Write one file with what `intact rehearse` needs to know of a cluster.

    It reads only, and neither Secrets nor environment variables.
    """
    from intact.cli import snapshot as command

    command.snapshot(cluster, output, anonymize=anonymize)


@main.command()
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="FILE",
    multiple=True,
    required=True,
    help="Manifests as YAML or JSON, - for standard input. May be repeated.",
)
@click.option(
    "--to",
    type=click.Choice(["stock", "kep"]),
    default="stock",
    show_default=True,
    help="For a stock API server, or for one with the fields of KEP-5682.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json"]),
    help="Format of the manifests; else that of each file.",
)
def translate(files: tuple[str, ...], to: str, output: str | None) -> None:
    """Translate PodDisruptionBudgets with the fields of KEP-5682 for a stock API server, or back.

    All other objects, and all other text of the files, are printed as they are.
    """
    from intact.cli import translate as command

    command.translate(files, to, output)


@main.command()
@check_options
def check(
    cluster: Cluster,
    files: tuple[str, ...],
    all_namespaces: bool,
    wait: float | None,
    output: str,
) -> None:
    """Ask whether Intact works, and find budgets that can never be met or protect nothing.

    Looks at the cluster; with -f, at manifests, without any cluster. Exit code 0: nothing worse
    than a note; 3: warnings; 4: errors.
    """
    from intact.cli.check import command

    command.check(cluster, files, all_namespaces=all_namespaces, wait=wait, output=output)


@main.command()
@cluster_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    metavar="N",
    help="Port of the page on 127.0.0.1. 0 takes a free one.",
)
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=given,
    help="Only this namespace. Default: all, which takes the right to list pods everywhere.",
)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="A snapshot, or the film of a rehearsal; else the cluster itself.",
)
@click.option(
    "--sandbox",
    is_flag=True,
    help="What make run shows, on a cluster in this process, over and over.",
)
def dashboard(
    cluster: Cluster,
    port: int,
    opened: bool,
    namespace: str | None,
    source: str | None,
    sandbox: bool,
) -> None:
    """Serve a page on this machine that shows groups, budgets and nodes, live.

    It reads with your own rights, changes nothing, and installs nothing in the cluster.
    """
    from intact.cli.dashboard import command

    if sandbox and (source or namespace):
        raise click.UsageError("--sandbox goes with neither --from nor --namespace")
    if source and namespace:
        raise click.UsageError("--from goes without --namespace: filter on the page")
    where = replace(cluster, namespace=namespace)
    command.dashboard(where, port, source, opened=opened, sandbox=sandbox)


@main.group()
def rehearse() -> None:
    """Find out what a maintenance would do, on a copy of the cluster in simulated time.

    Exit code 0: it goes through; 3: it does not.
    """


@rehearse.command()
@click.argument("nodes", metavar="NODE...", nargs=-1)
@node_selector
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Nodes that are drained at once.",
)
@cluster_options
@rehearsal_options
def drain(
    nodes: tuple[str, ...],
    selector: str | None,
    parallel: int,
    cluster: Cluster,
    rehearsal: Rehearsal,
) -> None:
    """Rehearse `kubectl drain --ignore-daemonsets` of these nodes."""
    from intact.cli import rehearse as command

    if bool(nodes) == (selector is not None):
        raise click.UsageError("name the nodes, or select them with -l")
    command.drain(cluster, rehearsal, nodes, selector, parallel)


@rehearse.command()
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    help="Nodes that are drained and brought back together.",
)
@click.option(
    "--back-after",
    type=Duration(),
    default="2m",
    show_default=True,
    metavar="TIME",
    help="How long a drained node is away.",
)
@node_selector
@cluster_options
@rehearsal_options
def upgrade(
    batch: int,
    back_after: float,
    selector: str | None,
    cluster: Cluster,
    rehearsal: Rehearsal,
) -> None:
    """Rehearse an upgrade of all nodes, in batches: drain, wait, uncordon, next."""
    from intact.cli import rehearse as command

    command.upgrade(cluster, rehearsal, selector, batch, back_after)


@rehearse.command()
@click.argument("groups", metavar="RBG|FILE...", nargs=-1, required=True)
@group_options
@rehearsal_options
def rollout(groups: tuple[str, ...], cluster: Cluster, rehearsal: Rehearsal) -> None:
    """Rehearse the rollout of RoleBasedGroups: as a FILE has them, or a restart by NAME."""
    from intact.cli import rehearse as command

    command.rollout(cluster, rehearsal, groups)


@main.command("drain")
@click.argument("nodes", metavar="NODE...", nargs=-1)
@node_selector
@cluster_options
@drain_options
def drain_nodes(
    nodes: tuple[str, ...],
    selector: str | None,
    cluster: Cluster,
    options: DrainOptions,
    dry_run: str,
    output: str,
) -> None:
    """Empty nodes within all budgets, group by group, as fast as they allow.

    Cordons all nodes first. Exit code 0: drained; 3: not in time, or interrupted; 1: errors.
    """
    if bool(nodes) == (selector is not None):
        raise click.UsageError("name the nodes, or select them with -l")
    if dry_run == "rehearse":
        from intact.cli.drain.rehearsal import rehearse

        rehearse(cluster, nodes, selector, options, output=output)
    else:
        from intact.cli.drain.command import drain

        drain(cluster, nodes, selector, options, dry_run=dry_run, output=output)


main.add_command(rbg)


@main.command()
def version() -> None:
    """Print the version of this command."""
    click.echo(f"intact {__version__}")


@main.command()
@click.argument("words", metavar="TYPE/NAME", nargs=-1, required=True)
@group_options
@document_option
def why(words: tuple[str, ...], cluster: Cluster, output: str) -> None:
    """Say what holds a pod, and what it waits for; also of a node, a budget, a group or an rbg.

    TYPE is pod, node, pub, pdb, rbg or group; TYPE NAME is the same. Exit code 0: it may go now;
    3: it waits; 4: it never goes as things are.
    """
    from intact.cli.why.command import why as command
    from intact.cli.why.types import asked

    command(asked(words), cluster, output)


@main.command()
@click.argument("what", type=click.Choice(["budgets", "groups", "pods"]))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@group_options
@everywhere_option
@click.option("-l", "--selector", metavar="SELECTOR", default="", help="Those with these labels.")
@click.option("-w", "--watch", is_flag=True, help="Draw the list again after each change.")
@output_option
def get(
    what: str,
    names: tuple[str, ...],
    cluster: Cluster,
    everywhere: bool,
    selector: str,
    watch: bool,
    output: str,
) -> None:
    """List budgets of both kinds, groups, or pods with what their budgets say.

    NAME may also be written as pub/NAME, pdb/NAME, group/NAME or pod/NAME.
    """
    from intact.cli.get import command

    wanted = command.Wanted(what, names, selector, everywhere, output)
    command.get(wanted, cluster, watch=watch)
