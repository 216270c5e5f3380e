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
def run(kubeconfig: str | None, context: str | None, http_bind: str, log_format: str) -> None:
    """Run the operator until SIGTERM."""
    from intact.cli import run as command

    command.run(kubeconfig, context, http_bind, log_format)
