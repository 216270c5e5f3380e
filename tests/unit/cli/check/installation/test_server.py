"""The version of the server."""

import pytest

from intact.cli.check.installation.line import State
from intact.cli.check.installation.server import judge, server_version
from intact.sandbox import MemoryApi
from tests.unit.cli.check.installation.cluster import answer, client_of, refused


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("v1.30.0", State.OK),
        ("v1.36.3-eks-1", State.OK),
        ("v2.0.0", State.OK),
        ("v1.29.9", State.FAIL),
        ("", State.SKIP),
    ],
)
def test_versions(version: str, state: State) -> None:
    assert judge(version).state is state


async def test_the_server_is_asked() -> None:
    client = client_of(MemoryApi(), lambda _request: answer(200, {"gitVersion": "v1.31.2"}))
    assert (await server_version(client)).message == "v1.31.2"


async def test_a_server_that_does_not_say_is_skipped() -> None:
    client = client_of(MemoryApi(), lambda _request: refused(403, "no", "Forbidden"))
    assert (await server_version(client)).state is State.SKIP
