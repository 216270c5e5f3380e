"""`intact rbg status`: shows one RoleBasedGroup as a tree, or all of a namespace in a table; the
exit code says how far they are."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime

import click

from intact.cli.options import Cluster
from intact.cli.output import DOCUMENTS, document
from intact.cli.rbg.names import FULL_KIND
from intact.cli.rbg.report import as_document, rows
from intact.cli.rbg.revisions import Numbers
from intact.cli.rbg.session import check_namespace, group_session
from intact.cli.rbg.standing import Standing, of_all
from intact.cli.rbg.tree import lines
from intact.cli.screen import Screen
from intact.kube.client import Client
from intact.kube.errors import Gone, Unreachable
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup

_REOPEN_AFTER = 0.5
"""Seconds until a watch that has ended is opened again."""
Groups = Mapping[tuple[str, str], RoleBasedGroup]
"""By namespace and name."""


def status(
    name: str, cluster: Cluster, *, everywhere: bool = False, watch: bool = False, output: str = ""
) -> None:
    """Without a name: all of the namespace, or of all namespaces."""
    found = asyncio.run(_status(name, cluster, everywhere=everywhere, watch=watch, output=output))
    sys.exit(found)


async def _status(
    name: str, cluster: Cluster, *, everywhere: bool, watch: bool, output: str
) -> Standing:
    async with group_session(cluster, name) as (client, where):
        namespace = "" if everywhere else where
        shown = _Shown(Numbers(client, namespace), namespace, name, output)
        async with aclosing(changes(client, namespace, name)) as states:
            async for groups in states:
                found = of_all(groups.values())
                last = not watch or found is not Standing.IN_PROGRESS
                await shown.show(groups, last=last)
                if last:
                    if not groups:
                        await _say_none(client, namespace)
                    return found
    raise AssertionError("changes have no end")


async def _say_none(client: Client, namespace: str) -> None:
    if namespace:
        await check_namespace(client, namespace)
    place = f"in namespace {namespace}" if namespace else "in any namespace"
    click.echo(f"no RoleBasedGroups found {place}", err=True)


async def changes(client: Client, namespace: str, name: str) -> AsyncGenerator[Groups, None]:
    """The RoleBasedGroups now and after each change, without end. A watch that ends, was silent or
    is too far behind is opened again on what is there then."""
    fields = f"metadata.name={name}" if name else ""
    while True:
        groups, version = await _read(client, namespace, name)
        yield groups
        try:
            async with client.watch(
                RBGS, namespace, resource_version=version, fields=fields
            ) as events:
                async for event in events:
                    if event.object is None:
                        continue  # a bookmark
                    meta = event.object.metadata
                    key = (meta.namespace, meta.name)
                    if event.type != "DELETED":
                        groups = {**groups, key: event.object}
                    elif name:
                        said = f"RoleBasedGroup {meta.namespace}/{meta.name} was deleted"
                        raise click.ClickException(said)
                    else:
                        groups = {one: group for one, group in groups.items() if one != key}
                    yield groups
        except (Gone, Unreachable):
            pass  # the next read says whether the server can be reached
        await asyncio.sleep(_REOPEN_AFTER)


async def _read(client: Client, namespace: str, name: str) -> tuple[Groups, str]:
    if name:
        group = await client.get(RBGS, name, namespace)
        return {(group.metadata.namespace, name): group}, group.metadata.resource_version
    page = await client.list(RBGS, namespace)
    found = {(one.metadata.namespace, one.metadata.name): one for one in page.items}
    return found, page.resource_version


class _Shown:
    """What is shown, in the format that was asked for."""

    def __init__(self, numbers: Numbers, namespace: str, name: str, output: str) -> None:
        self._numbers = numbers
        self._namespace = namespace
        self._name = name
        self._output = output
        self._screen = Screen()
        self._before = ""

    async def show(self, groups: Groups, *, last: bool) -> None:
        ordered = [groups[key] for key in sorted(groups)]
        if self._output == "name":
            self._print("\n".join(f"{FULL_KIND}/{one.metadata.name}" for one in ordered))
            return
        numbered = [(one, await self._numbers.of(one)) for one in ordered]
        if self._output in DOCUMENTS:
            found = [as_document(*one) for one in numbered]
            self._print(document(found[0] if self._name else {"items": found}, self._output))
            return
        picture: list[str] = []
        if self._name and not self._output:
            picture = lines(*numbered[0])
        elif ordered:
            wide = self._output == "wide"
            everywhere = not self._namespace
            picture = rows(numbered, datetime.now(UTC), namespaces=everywhere, wide=wide)
        if last:
            self._screen.end(picture)
        else:
            self._screen.show(picture)

    def _print(self, text: str) -> None:
        if not text or text == self._before:
            return
        if self._before and self._output == "yaml":
            click.echo("---")
        click.echo(text)
        self._before = text
