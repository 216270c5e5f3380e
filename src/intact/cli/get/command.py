"""`intact get`: lists of budgets, groups and pods."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import click

from intact.cli.get import budgets, groups, pods
from intact.cli.get.listing import Heads, Row, shown
from intact.cli.get.live import Live
from intact.cli.options import Cluster
from intact.cli.output import DOCUMENTS
from intact.cli.rbg.session import check_namespace
from intact.cli.reading import read_objects
from intact.cli.screen import Screen, printable
from intact.cli.session import session
from intact.kube.client import Client
from intact.picture.objects import Objects
from intact.picture.picture import Picture, draw
from intact.sandbox.api.failures import Failure
from intact.sandbox.api.selectors import parse_labels

Rows: TypeAlias = Callable[[Picture, datetime], list[Row]]
WHAT: dict[str, tuple[Heads, Rows]] = {
    "budgets": (budgets.HEADS, budgets.rows),
    "groups": (groups.HEADS, groups.rows),
    "pods": (pods.HEADS, pods.rows),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    what: str
    """`budgets`, `groups` or `pods`."""
    names: Sequence[str] = ()
    selector: str = ""
    everywhere: bool = False
    output: str = ""


def get(wanted: Wanted, cluster: Cluster, *, watch: bool) -> None:
    _check(wanted.selector)
    asyncio.run(_watch(wanted, cluster) if watch else _get(wanted, cluster))


async def _get(wanted: Wanted, cluster: Cluster) -> None:
    async with session(cluster) as (client, where):
        namespace = "" if wanted.everywhere else where
        objects = await read_objects(client, namespace, nodes=wanted.what == "pods")
        rows = rows_of(wanted, objects, datetime.now(UTC))
        if lines := _lines(wanted, rows):
            click.echo("\n".join(lines))
        _say_unread(objects)
        if not rows and not wanted.names and wanted.output not in DOCUMENTS:
            await _say_none(client, wanted, namespace)
        missing = [name for name in wanted.names if not any(name in row.names for row in rows)]
        if missing:
            place = f'in namespace "{namespace}"' if namespace else "in any namespace"
            one = wanted.what.removesuffix("s")
            said = [f'there is no {one} "{name}" {place}' for name in missing]
            raise click.ClickException("\n".join(said))


async def _watch(wanted: Wanted, cluster: Cluster) -> None:
    screen = Screen()
    before = ""
    seen: Objects | None = None
    async with session(cluster) as (client, where):
        live = Live(client, "" if wanted.everywhere else where)
        async with live.running(), aclosing(live.objects()) as states:
            async for objects in states:
                if objects == seen:
                    continue
                seen = objects
                lines = _lines(wanted, rows_of(wanted, objects, datetime.now(UTC)))
                lines += [f"not read: {name} ({why})" for name, why in objects.unreadable.items()]
                if wanted.output not in DOCUMENTS:
                    screen.show(lines)
                elif (text := "\n".join(lines)) != before:
                    click.echo(f"---\n{text}" if before and wanted.output == "yaml" else text)
                    before = text


def rows_of(wanted: Wanted, objects: Objects, now: datetime) -> list[Row]:
    _heads, make = WHAT[wanted.what]
    found = make(draw(objects), now)
    if wanted.selector:
        selects = parse_labels(wanted.selector)
        found = [row for row in found if any(map(selects, row.labels))]
    if wanted.names:
        found = [row for row in found if not set(row.names).isdisjoint(wanted.names)]
    return found


def _lines(wanted: Wanted, rows: Sequence[Row]) -> list[str]:
    heads, _make = WHAT[wanted.what]
    single = len(wanted.names) == 1 and len(rows) == 1
    lines = shown(heads, rows, wanted.output, namespaces=wanted.everywhere, single=single)
    # A document is one text with line ends of its own, in which nothing is left that could harm.
    return lines if wanted.output in DOCUMENTS else [printable(line) for line in lines]


def _check(selector: str) -> None:
    try:
        parse_labels(selector)
    except Failure as error:
        raise click.UsageError(f"the selector {selector!r} cannot be read: {error}") from None


def _say_unread(objects: Objects) -> None:
    for name, why in sorted(objects.unreadable.items()):
        click.echo(f"not read: {name} ({why})", err=True)


async def _say_none(client: Client, wanted: Wanted, namespace: str) -> None:
    if namespace:
        await check_namespace(client, namespace)
    place = f"in namespace {namespace}" if namespace else "in any namespace"
    click.echo(f"no {wanted.what} found {place}", err=True)
