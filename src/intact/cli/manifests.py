"""`intact manifests`."""

import ipaddress
import re
from collections.abc import Sequence

import click
import msgspec

from intact import __version__
from intact.cli.options import parse_controllers
from intact.operator.install.manifests import MEMORY_LIMIT, manifests


def show(
    namespace: str,
    image: str | None,
    replicas: int,
    memory_limit: str | None,
    api_server_cidrs: Sequence[str],
    controllers: str,
) -> None:
    if memory_limit is not None and not re.fullmatch(r"[1-9]\d*(k|M|G|Ki|Mi|Gi)?", memory_limit):
        raise click.UsageError(f"--memory-limit {memory_limit!r} is not a size like 512Mi")
    for cidr in api_server_cidrs:
        try:
            ipaddress.ip_network(cidr)
        except ValueError as error:
            raise click.UsageError(f"--api-server-cidr: {error}") from error
    objects = manifests(
        namespace=namespace,
        image=image or f"intact:{__version__}",
        replicas=replicas,
        memory_limit=memory_limit or MEMORY_LIMIT,
        api_server_cidrs=api_server_cidrs,
        controllers=parse_controllers(controllers),
    )
    documents = [msgspec.yaml.encode(each).decode() for each in objects]
    click.echo("---\n".join(documents), nl=False)
