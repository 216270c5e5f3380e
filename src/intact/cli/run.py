"""`intact run`."""

import asyncio
import re

import click

from intact.cli import logs
from intact.kube import config as kube_config
from intact.kube.errors import ConfigError
from intact.operator.errors import StartError
from intact.operator.run import Options
from intact.operator.run import run as run_operator

ANY_HOST = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus ask from outside


def run(kubeconfig: str | None, context: str | None, http_bind: str, log_format: str) -> None:
    host, port = parse_bind(http_bind, "--http-bind")
    logs.set_up(log_format)
    try:
        config = kube_config.load(kubeconfig, context)
        asyncio.run(run_operator(Options(config, host, port)))
    except (ConfigError, StartError) as error:
        raise click.ClickException(str(error)) from None


def parse_bind(text: str, option: str) -> tuple[str, int]:
    """HOST:PORT, with an IPv6 address in brackets."""
    match = re.fullmatch(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d+)", text)
    if not match or int(match["port"]) > 65535:
        raise click.UsageError(f"{option} {text!r} is not HOST:PORT")
    return match["v6"] or match["host"] or ANY_HOST, int(match["port"])
