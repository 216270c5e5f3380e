"""`intact run`."""

import asyncio
import re

import click

from intact.budget.selector_text import parse_selector
from intact.cli import logs
from intact.cli.options import Cluster, parse_controllers
from intact.kube import config as kube_config
from intact.kube.errors import ConfigError
from intact.operator.errors import StartError
from intact.operator.event_loop import paced_loop
from intact.operator.names import WEBHOOK_PORT
from intact.operator.run import Options
from intact.operator.run import run as run_operator
from intact.operator.webhook.client_ca import ClientCa

EVERYWHERE = ""
"""All addresses, of IPv4 and IPv6: the kubelet, Prometheus and the API server ask from outside."""


def run(
    cluster: Cluster,
    http_bind: str,
    log_format: str,
    *,
    log_level: str,
    install: bool,
    webhook_bind: str | None,
    webhook_service: str | None,
    webhook_client_ca: str | None,
    controllers: str,
    namespace_selector: str,
) -> None:
    http = parse_bind(http_bind, "--http-bind")
    service = parse_service(webhook_service) if webhook_service else None
    webhook = None
    if webhook_bind:
        webhook = parse_bind(webhook_bind, "--webhook-bind")
    elif service:
        webhook = (EVERYWHERE, WEBHOOK_PORT)
    elif install:
        webhook = ("127.0.0.1", WEBHOOK_PORT)
    chosen = parse_controllers(controllers)
    try:
        selected = parse_selector(namespace_selector)
    except ValueError as error:
        raise click.UsageError(f"--namespace-selector: {error}") from error
    logs.set_up(log_format, log_level)
    try:
        config = kube_config.load(cluster.kubeconfig, cluster.context)
        client_ca = ClientCa(webhook_client_ca) if webhook_client_ca else None
        options = Options(config, http, webhook, service, client_ca, chosen, install, selected)
        with asyncio.Runner(loop_factory=None if webhook else paced_loop) as runner:
            runner.run(run_operator(options))
    except* (ConfigError, StartError) as errors:
        raise click.ClickException(str(_first(errors))) from None


def _first(errors: BaseExceptionGroup[Exception]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def parse_bind(text: str, option: str) -> tuple[str, int]:
    """HOST:PORT, with an IPv6 address in brackets; without a host everywhere."""
    match = re.fullmatch(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d+)", text)
    if not match or int(match["port"]) > 65535:
        raise click.UsageError(f"{option} {text!r} is not HOST:PORT")
    return match["v6"] or match["host"] or EVERYWHERE, int(match["port"])


def parse_service(text: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise click.UsageError(f"--webhook-service {text!r} is not NAMESPACE/NAME")
    return namespace, name
