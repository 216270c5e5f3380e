"""Every test of this directory runs against both servers."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.contract.backends import Backend, memory_backend, real_backend


@pytest.fixture(params=["memory", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def backend(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Backend]:
    if request.param == "memory":
        entered = memory_backend()
    else:
        cluster, namespace = (request.getfixturevalue(name) for name in ("cluster", "namespace"))
        entered = real_backend(cluster, namespace)
    yield runner.run(entered.__aenter__())
    runner.run(entered.__aexit__(None, None, None))
