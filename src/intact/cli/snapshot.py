"""`intact snapshot`: writes one file with what a rehearsal needs to know of a cluster."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.sandbox.snapshot.anonymous import anonymized
from intact.sandbox.snapshot.document import Snapshot, encode, write
from intact.sandbox.snapshot.reading import take


def snapshot(cluster: Cluster, output: str, *, anonymize: bool) -> None:
    found = asyncio.run(read(cluster))
    if anonymize:
        found = anonymized(found)
    if output == "-":
        sys.stdout.buffer.write(encode(found))
        return
    try:
        write(found, Path(output))
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from None
    counted = ", ".join(
        f"{len(found.of(name))} {name.partition('.')[0]}" for name in ("nodes", "pods")
    )
    click.echo(f"{output}: {counted}", err=True)


async def read(cluster: Cluster) -> Snapshot:
    """From the cluster. What could not be read is said on standard error."""
    async with session(cluster) as (client, _namespace):
        found = await take(client, lambda: datetime.now(UTC))
    for each in found.unreadable:
        click.echo(f"cannot read {each.resource}: {each.why}", err=True)
    return found
