"""A server in memory, and a client that talks to it."""

import pytest

from intact.kube.client import Client
from intact.sandbox import Kind, MemoryApi, Scale
from tests.support.objects import WIDGETS


@pytest.fixture
def api() -> MemoryApi:
    api = MemoryApi()
    kind = Kind(
        WIDGETS.group,
        WIDGETS.version,
        WIDGETS.plural,
        WIDGETS.kind,
        status=True,
        more_versions=("v1beta1",),
        scale=Scale(selector="status.selector"),
    )
    api.register(kind)
    return api


@pytest.fixture
def client(api: MemoryApi) -> Client:
    return Client(api)
