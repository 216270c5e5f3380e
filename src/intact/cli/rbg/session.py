"""A client for one command about RoleBasedGroups. What goes wrong is said in one line, which names
the cause: no such kind, namespace or RoleBasedGroup, no right, an Intact that does not answer."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from intact.cli.options import Cluster
from intact.cli.session import session
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import ApiError, Forbidden, KubeError, NotFound, ServerError, Unauthorized
from intact.kube.resources import NAMESPACES, RBGS
from intact.model.listing import listed

_MISSING = (
    f"the cluster has no kind {RBGS.kind} ({RBGS.api_version}): Intact is not installed there, "
    "or this is not the cluster that you mean (--context)"
)
_DOWN = (
    "Intact does not answer, and without it no RoleBasedGroup can be changed: see "
    "docs/operations.md, RoleBasedGroups while Intact is down"
)


@asynccontextmanager
async def group_session(
    cluster: Cluster, name: str = ""
) -> AsyncGenerator[tuple[Client, str], None]:
    """As `session`, for a command about the RoleBasedGroup of this name, or about all."""
    async with session(cluster) as (client, where):
        try:
            yield client, where
        except ApiError as error:
            said = await explained(client, error, where, name)
            raise click.ClickException(said) from None


async def explained(client: Client, error: ApiError, namespace: str, name: str) -> str:
    """What an answer of the API server means for a command about RoleBasedGroups."""
    if isinstance(error, Unauthorized):
        return f"the API server does not know you (401): {error}"
    if isinstance(error, Forbidden):
        return f"you may not do that (403): {error}"
    if isinstance(error, ServerError) and "failed calling webhook" in str(error):
        return f"{_DOWN}. The API server says: {error}"
    if isinstance(error, NotFound):
        details = error.status.details
        if details is None or not details.name:
            return str(error) if await _has_kind(client) else _MISSING
        if name and details.kind == RBGS.plural:
            return await _absent(client, namespace, name)
    return str(error)


async def check_namespace(client: Client, namespace: str) -> None:
    """Raises if the namespace is known not to exist: the API server lists an absent namespace as
    an empty one."""
    if await _is_absent(client, namespace):
        raise click.ClickException(f'namespace "{namespace}" does not exist')


async def _absent(client: Client, namespace: str, name: str) -> str:
    if await _is_absent(client, namespace):
        return f'namespace "{namespace}" does not exist'
    said = f'there is no RoleBasedGroup "{name}" in namespace "{namespace}"'
    try:
        found = (await client.list(RBGS, fields=f"metadata.name={name}")).items
    except KubeError:
        return said  # who may not list them all is told no more
    elsewhere = sorted(one.metadata.namespace for one in found)
    return f"{said}; there is one in {listed(elsewhere)} (-n)" if elsewhere else said


async def _is_absent(client: Client, namespace: str) -> bool:
    try:
        await client.get(NAMESPACES, namespace)
    except NotFound:
        return True
    except KubeError:
        pass  # not everyone may read namespaces
    return False


async def _has_kind(client: Client) -> bool:
    try:
        return RBGS.plural in await served_resources(client, RBGS.api_version)
    except KubeError:
        return True
