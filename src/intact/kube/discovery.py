"""Which resources the API server serves, from the list that it publishes for each API version."""

import msgspec

from intact.kube.client import Client
from intact.kube.errors import NotFound, Undecodable
from intact.model.api_resources import ApiResource, ApiResourceList

_DECODER = msgspec.json.Decoder(ApiResourceList)


async def served_resources(client: Client, api_version: str) -> dict[str, ApiResource]:
    """By name; none if the server does not serve the version. Raises `KubeError`."""
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
