"""Every test of this directory runs against both servers."""

import asyncio
from collections.abc import Iterator

import pytest

from intact.sandbox import SimulatedLoop
from tests.contract.backends import Backend, memory_backend, real_backend
from tests.contract.clusters import ClusterBackend, memory_cluster, real_cluster

_BOTH = ["memory", pytest.param("kubernetes", marks=pytest.mark.kubernetes)]


@pytest.fixture(params=_BOTH)
def backend(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Backend]:
    """The API alone."""
    if request.param == "memory":
        entered = memory_backend()
    else:
        cluster, namespace = (request.getfixturevalue(name) for name in ("cluster", "namespace"))
        entered = real_backend(cluster, namespace)
    yield runner.run(entered.__aenter__())
    runner.run(entered.__aexit__(None, None, None))


@pytest.fixture(params=_BOTH)
def cluster_backend(
    request: pytest.FixtureRequest, runner: asyncio.Runner
) -> Iterator[ClusterBackend]:
    """With controllers, scheduler and kubelets."""
    if request.param == "memory":
        entered = memory_cluster()
    else:
        cluster, namespace = (request.getfixturevalue(name) for name in ("cluster", "namespace"))
        entered = real_cluster(cluster, namespace)
    yield runner.run(entered.__aenter__())
    runner.run(entered.__aexit__(None, None, None))


@pytest.fixture(autouse=True)
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """The sandbox runs on simulated time: what takes seconds on the real server takes none."""
    callspec = getattr(request.node, "callspec", None)
    simulated = callspec is not None and callspec.params.get("cluster_backend") == "memory"
    with asyncio.Runner(loop_factory=SimulatedLoop if simulated else None) as runner:
        yield runner
