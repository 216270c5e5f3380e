"""Finds what a command is asked about. What is not there is said in one line, with where it is."""

from typing import Any, TypeVar

import click

from intact.cli.rbg.session import check_namespace
from intact.cli.reading import DETAILED_PODS
from intact.cli.why.types import Type
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import NODES, PDBS, PUBS, RBGS, Resource
from intact.model.listing import listed

T = TypeVar("T")
RESOURCES: dict[Type, Resource[Any]] = {
    Type.POD: DETAILED_PODS,
    Type.NODE: NODES,
    Type.PUB: PUBS,
    Type.PDB: PDBS,
    Type.RBG: RBGS,
}


async def find(client: Client, kind: Type, name: str, namespace: str) -> Any:
    """The object. Raises `click.ClickException` if there is none."""
    resource = RESOURCES[kind]
    try:
        return await client.get(resource, name, namespace if resource.namespaced else "")
    except NotFound:
        raise click.ClickException(await absent(client, kind, name, namespace)) from None


async def absent(client: Client, kind: Type, name: str, namespace: str) -> str:
    """Why there is no such object, as far as that can be read."""
    resource = RESOURCES[kind]
    if kind in (Type.PUB, Type.RBG) and not await _is_served(client, resource):
        return (
            f"the cluster has no kind {resource.kind} ({resource.api_version}): Intact is not "
            "installed there, or this is not the cluster that you mean (--context)"
        )
    if not resource.namespaced:
        return f'there is no {kind} "{name}"'
    await check_namespace(client, namespace)
    said = f'there is no {kind} "{name}" in namespace "{namespace}"'
    try:
        found = (await client.list(resource, fields=f"metadata.name={name}")).items
    except KubeError:
        return said  # who may not list them all is told no more
    return elsewhere(said, {one.metadata.namespace for one in found})


def elsewhere(said: str, namespaces: set[str]) -> str:
    return f"{said}; there is one in {listed(sorted(namespaces))} (-n)" if namespaces else said


async def _is_served(client: Client, resource: Resource[Any]) -> bool:
    try:
        return resource.plural in await served_resources(client, resource.api_version)
    except KubeError:
        return True
