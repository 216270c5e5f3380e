"""What the API server says that it serves."""

import pytest

from intact.kube.client import Client
from intact.kube.discovery import is_api_group, served_resources
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


class Silent(MemoryApi):
    """A server that must not be asked anything."""

    async def send(self, request: Request) -> Response:
        raise AssertionError(request.path)


NO_VERSIONS = [
    "",
    ".",
    "..",
    "../v1",
    "v1?watch=true",
    "x/v1#frag",
    "x/v1\r\nHost: evil",
    "x\ny/v1",
    "a b/v1",
    "[/v1",
    "%2e%2e/v1",
    "\N{GRINNING FACE}/v1",
    "\x00/v1",
    "a\\b/v1",
    "apps/v1/",
    "apps/v1\n",
]


@pytest.mark.parametrize("version", NO_VERSIONS)
async def test_what_no_server_can_serve_is_not_asked_for(version: str) -> None:
    """It would become part of a URL, or break it."""
    assert await served_resources(Client(Silent()), version) == {}


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("apps", True),
        ("leaderworkerset.x-k8s.io", True),
        ("", False),
        ("..", False),
        ("apps/v1", False),
        ("apps?", False),
        ("a\nb", False),
        ("Apps", False),
    ],
)
def test_the_name_of_a_group(text: str, possible: bool) -> None:
    assert is_api_group(text) == possible
