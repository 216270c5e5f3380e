"""`intact why`: reads what is asked about and what it needs to judge it, and says what it found."""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime

import click

from intact.cli.options import Cluster
from intact.cli.output import document
from intact.cli.rbg.revisions import Numbers
from intact.cli.rbg.session import check_namespace
from intact.cli.reading import read_objects
from intact.cli.screen import printable
from intact.cli.session import session
from intact.cli.why.around import read_around
from intact.cli.why.budget import about_budget
from intact.cli.why.events import Refused, refused_by
from intact.cli.why.find import absent, elsewhere, find
from intact.cli.why.group import Group, about_groups
from intact.cli.why.node import about_node
from intact.cli.why.pod import about_pod
from intact.cli.why.rbg import about_rbg
from intact.cli.why.report import Report
from intact.cli.why.types import Asked, Type
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import NODE_CLAIMS, NODES
from intact.model.places import Node, NodeClaim, claim_of
from intact.model.pod import DetailedPod
from intact.picture.picture import Picture, draw


def why(asked: Asked, cluster: Cluster, output: str) -> None:
    found = asyncio.run(_why(asked, cluster))
    if output:
        click.echo(document(found.document, output))
    else:
        click.echo("\n".join(printable(line) for line in found.lines))
    sys.exit(found.exit_code)


async def _why(asked: Asked, cluster: Cluster) -> Report:
    async with session(cluster) as (client, namespace):
        now = datetime.now(UTC)
        match asked.type:
            case Type.POD:
                return await _pod(client, asked.name, namespace, now)
            case Type.NODE:
                return await _node(client, asked.name, now)
            case Type.RBG:
                return await _rbg(client, asked.name, namespace, now)
            case Type.GROUP:
                return await _group(client, asked.name, namespace, now)
            case Type.PUB | Type.PDB:
                return await _budget(client, asked, namespace, now)


async def _pod(client: Client, name: str, namespace: str, now: datetime) -> Report:
    try:
        pod, objects = await read_around(client, name, namespace)
    except NotFound:
        raise click.ClickException(await absent(client, Type.POD, name, namespace)) from None
    nodes = await _node_of(client, pod)
    claims = await _claims_of(client, nodes)
    return about_pod(draw(replace(objects, nodes=nodes, node_claims=claims)), pod, now)


async def _node_of(client: Client, pod: DetailedPod) -> list[Node]:
    """Its deletion hangs on it, and when it may go in any case."""
    if not pod.spec.node_name:
        return []
    try:
        return [await client.get(NODES, pod.spec.node_name)]
    except KubeError:
        return []  # it is gone, or may not be read


async def _claims_of(client: Client, nodes: list[Node]) -> list[NodeClaim]:
    owners = [one for one in (claim_of(node.metadata) for node in nodes) if one is not None]
    try:
        return [await client.get(NODE_CLAIMS, owner.name) for owner in owners]
    except KubeError:
        return []  # they are gone, or may not be read


async def _node(client: Client, name: str, now: datetime) -> Report:
    node, objects = await asyncio.gather(find(client, Type.NODE, name, ""), read_objects(client))
    claims = await _claims_of(client, [node])
    return about_node(draw(replace(objects, nodes=[node], node_claims=claims)), node, now)


async def _rbg(client: Client, name: str, namespace: str, now: datetime) -> Report:
    group = await find(client, Type.RBG, name, namespace)
    objects, numbers = await asyncio.gather(
        read_objects(client, namespace), Numbers(client, namespace).of(group)
    )
    return about_rbg(draw(objects), group, numbers, now)


async def _group(client: Client, name: str, namespace: str, now: datetime) -> Report:
    picture = draw(await read_objects(client, namespace))
    if groups := _named(picture, name):
        return about_groups(picture, groups, now)
    await check_namespace(client, namespace)
    said = f'there is no group "{name}" in namespace "{namespace}"'
    try:
        everywhere = draw(await read_objects(client))
    except KubeError:
        raise click.ClickException(said) from None  # who may not read all is told no more
    others = {unit.namespace for unit, _budgets in _named(everywhere, name)}
    raise click.ClickException(elsewhere(said, others))


def _named(picture: Picture, name: str) -> list[Group]:
    return [one for one in picture.groups if one[0].name == name]


async def _budget(client: Client, asked: Asked, namespace: str, now: datetime) -> Report:
    picture = draw(await read_objects(client, namespace))
    reference = f"{asked.type}/{asked.name}"
    found = next((one for one in picture.budgets if one.reference == reference), None)
    if found is None:
        await find(client, asked.type, asked.name, namespace)
        raise click.ClickException(f"{reference} has just been created; try again")
    refused: list[Refused] = []
    try:
        refused = await refused_by(client, found)
    except KubeError as error:
        unreadable = {**picture.objects.unreadable, "events": str(error)}
        picture = replace(picture, objects=replace(picture.objects, unreadable=unreadable))
    return about_budget(picture, found, refused, now)
