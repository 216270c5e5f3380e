"""A process finds out whom the API server takes it for."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import KubeError
from intact.kube.own_user import OwnUser
from intact.kube.transport import Request, Response
from intact.sandbox import MemoryApi
from tests.unit.kube.simulated import simulated


class Asked:
    """A transport that answers the first requests as told, then as the server does."""

    def __init__(self, *first: Response) -> None:
        self.count = 0
        self._first = list(first)
        self._api = MemoryApi().as_user("system:serviceaccount:intact-system:intact")

    async def send(self, request: Request) -> Response:
        self.count += 1
        return self._first.pop(0) if self._first else await self._api.send(request)

    stream = close = None


@simulated
async def test_the_name_is_asked_for_once() -> None:
    wire = Asked()
    user = OwnUser(Client(wire))  # type: ignore[arg-type]
    for _ in range(2):
        assert await user.name() == "system:serviceaccount:intact-system:intact"
    assert wire.count == 1


@pytest.mark.parametrize("answer", [Response(403, b"{}"), Response(201, b"{}")])
@simulated
async def test_a_server_that_does_not_tell_is_asked_again(answer: Response) -> None:
    user = OwnUser(Client(Asked(answer)))  # type: ignore[arg-type]
    with pytest.raises(KubeError):
        await user.name()
    assert await user.name() == "system:serviceaccount:intact-system:intact"
