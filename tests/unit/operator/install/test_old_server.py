"""A server that is too old for Intact ends the process before it writes anything."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.kube.transport import Request, Response
from intact.operator.errors import StartError
from intact.operator.install.old_server import refuse_old_server, wait_and_refuse_old_server
from intact.sandbox import MemoryApi
from tests.unit.cli.check.installation.cluster import answer, client_of, refused
from tests.unit.kube.simulated import now, simulated

OLD = "the API server is of version v1.29.15: Intact needs Kubernetes 1.30 or later"


def of_version(version: str) -> Client:
    return client_of(MemoryApi(), lambda _request: answer(200, {"gitVersion": version}))


async def test_an_old_server_is_refused() -> None:
    for refuse in (refuse_old_server, wait_and_refuse_old_server):
        with pytest.raises(StartError) as caught:
            await refuse(of_version("v1.29.15"))
        assert str(caught.value) == OLD
        await refuse(of_version("v1.30.14"))


async def test_a_server_that_does_not_tell_is_taken_to_be_new_enough(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = client_of(MemoryApi(), lambda _request: refused(403, "no", "Forbidden"))
    await refuse_old_server(client)
    assert "does not tell its version" in caplog.text


@simulated
async def test_a_server_that_is_away_is_asked_again() -> None:
    def away(_request: Request) -> Response:
        if now() < 30:
            raise Unreachable("away")
        return answer(200, {"gitVersion": "v1.29.15"})

    with pytest.raises(Unreachable):
        await refuse_old_server(client_of(MemoryApi(), away))
    with pytest.raises(StartError):
        await wait_and_refuse_old_server(client_of(MemoryApi(), away))
    assert now() >= 30
