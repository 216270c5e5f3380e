"""Which resources the API server serves, from the list that it publishes for each API version."""

import re

import msgspec

from intact.kube.client import Client
from intact.kube.errors import NotFound, Undecodable
from intact.model.api_resources import ApiResource, ApiResourceList

_DECODER = msgspec.json.Decoder(ApiResourceList)
_NAME = "[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
_GROUP = re.compile(_NAME)
_VERSION = re.compile(f"({_NAME}/)?{_NAME}")


def is_api_group(text: str) -> bool:
    """Whether a group can have this name. What people write in its place can be anything, and must
    not become part of a path."""
    return _GROUP.fullmatch(text) is not None


async def served_resources(client: Client, api_version: str) -> dict[str, ApiResource]:
    """By name; none if the server does not serve the version. Raises `KubeError`.

    A user who creates a pod can put any text in the place of an owner's version: a text that no
    server serves as one is not asked for.
    """
    if not _VERSION.fullmatch(api_version):
        return {}
    path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    try:
        body = await client.raw(path)
    except NotFound:
        return {}
    try:
        listed = _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise Undecodable(f"the list of resources at {path} cannot be read: {error}") from error
    return {resource.name: resource for resource in listed.resources}
