"""What the API server says that it serves."""

import pytest

from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import Undecodable
from intact.kube.transport import Request, Response
from intact.sandbox import MemoryApi


class Junk(MemoryApi):
    """A server that answers everything with the same bytes."""

    async def send(self, _request: Request) -> Response:
        return Response(200, b'{"resources": 3}')


async def test_resources_and_subresources_are_listed_by_name() -> None:
    served = await served_resources(Client(MemoryApi()), "apps/v1")
    assert (served["deployments"].kind, served["deployments"].namespaced) == ("Deployment", True)
    assert served["deployments"].can_be_followed
    assert served["deployments/scale"].kind == "Scale"
    assert not served["deployments/scale"].can_be_followed


async def test_the_core_group_is_listed_too() -> None:
    served = await served_resources(Client(MemoryApi()), "v1")
    assert not served["namespaces"].namespaced
    assert served["pods"].can_be_followed


@pytest.mark.parametrize("version", ["nobody.dev/v1", "apps/v9", "v9"])
async def test_a_version_that_is_not_served_has_no_resources(version: str) -> None:
    assert await served_resources(Client(MemoryApi()), version) == {}


async def test_a_list_that_cannot_be_read_is_said_to_be() -> None:
    with pytest.raises(Undecodable, match="list of resources at /apis/apps/v1 cannot be read"):
        await served_resources(Client(Junk()), "apps/v1")
