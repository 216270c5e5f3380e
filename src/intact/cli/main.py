"""The command line. Each command's work is imported when it runs: a plugin starts often."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="intact")
def main() -> None:
    """Keeps multi-pod replicas whole on Kubernetes."""


@main.command()
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
@click.option(
    "--http-bind",
    metavar="HOST:PORT",
    default="0.0.0.0:8080",
    show_default=True,
    help="Where to serve /healthz, /readyz and /metrics. Port 0 takes a free one.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How log lines look.",
)
@click.option("--install", is_flag=True, help="First apply the CRDs; keep the webhooks registered.")
@click.option(
    "--webhook-bind",
    metavar="HOST:PORT",
    help="Where to answer admission reviews. Replicas outside a cluster may share one.",
)
@click.option(
    "--webhook-service",
    metavar="NAMESPACE/NAME",
    help="The Service in front of the webhooks; without it they are registered by URL.",
)
@click.option(
    "--controllers",
    metavar="LIST",
    default="pub,pdb,rbg",
    show_default=True,
    help="What to run, separated by commas: pub, pdb, rbg, disruption.",
)
def run(
    kubeconfig: str | None,
    context: str | None,
    http_bind: str,
    log_format: str,
    install: bool,
    webhook_bind: str | None,
    webhook_service: str | None,
    controllers: str,
) -> None:
    """Run the operator until SIGTERM."""
    from intact.cli import run as command

    command.run(
        kubeconfig,
        context,
        http_bind,
        log_format,
        install=install,
        webhook_bind=webhook_bind,
        webhook_service=webhook_service,
        controllers=controllers,
    )


@main.command()
@click.option("--namespace", metavar="NAME", default="intact-system", show_default=True)
@click.option("--image", metavar="IMAGE", help="Image that has the intact command.")
@click.option("--replicas", type=click.IntRange(min=1), default=2, show_default=True)
def manifests(namespace: str, image: str | None, replicas: int) -> None:
    """Print all that a cluster needs to run Intact, as YAML."""
    from intact.cli import manifests as command

    command.show(namespace, image, replicas)


@main.command()
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
@click.option("--namespace", metavar="NAME", default="intact-system", show_default=True)
@click.option("--crds", is_flag=True, help="Remove the CRDs as well, and with them all budgets.")
def uninstall(kubeconfig: str | None, context: str | None, namespace: str, crds: bool) -> None:
    """Take Intact out of a cluster, beginning with the webhook registration."""
    from intact.cli import uninstall as command

    command.uninstall(kubeconfig, context, namespace, crds)


@main.group()
def rbg() -> None:
    """RoleBasedGroups: see what they do, rehearse and undo their rollouts."""


@rbg.command()
@click.argument("source", metavar="FILE|NAME")
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
@click.option("-n", "--namespace", metavar="NAME", help="Of the group; else the context's.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def plan(
    source: str, kubeconfig: str | None, context: str | None, namespace: str | None, output: str
) -> None:
    """Print the rounds that a rollout of a group would take.

    The group is read from a FILE (or - for standard input), with no cluster, or found by its NAME.
    """
    from intact.cli import rbg_plan as command

    command.plan(source, kubeconfig, context, namespace, output)


@rbg.command()
@click.argument("name")
@click.option("--to-revision", type=click.IntRange(min=1), metavar="N", help="Else the one before.")
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
@click.option("-n", "--namespace", metavar="NAME", help="Of the group; else the context's.")
def undo(
    name: str,
    to_revision: int | None,
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
) -> None:
    """Give a group the templates of an earlier revision, all its roles together."""
    from intact.cli import rbg_undo as command

    command.undo(name, to_revision, kubeconfig, context, namespace)


@rbg.command()
@click.argument("name")
@click.option("-w", "--watch", is_flag=True, help="Go on until it is done, paused or stalled.")
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it.")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig; else its current one.")
@click.option("-n", "--namespace", metavar="NAME", help="Of the group; else the context's.")
def status(
    name: str,
    watch: bool,
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
) -> None:
    """Show a group with its roles; the exit code says how it stands.

    0 done, 3 in progress or not ready, 4 stalled, 5 paused or held by a partition.
    """
    from intact.cli import rbg_status as command

    command.status(name, kubeconfig, context, namespace, watch=watch)
