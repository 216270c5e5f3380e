"""What all tests share: coroutines as tests, and the development cluster."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["devcluster.pytest_plugin"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of tests/cluster need a Kubernetes; those of tests/contract say it themselves."""
    for item in items:
        if "cluster" in item.path.relative_to(item.config.rootpath).parts:
            item.add_marker(pytest.mark.kubernetes)


# How long an example takes says something about the machine, nothing about the code.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def cluster_options() -> dict[str, Any]:
    # Without a watch cache, watches of ConfigMaps come straight from etcd and end when etcd is
    # compacted. Nothing else makes a watch expire without a wait of minutes.
    return {"flags": {"kube-apiserver": ["--watch-cache-sizes=configmaps#0"]}}


@pytest.fixture(autouse=True)
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of a test; its asynchronous fixtures use it too."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run coroutine tests on their runner's loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    runner = pyfuncitem.funcargs["runner"]
    assert isinstance(runner, asyncio.Runner)
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    runner.run(pyfuncitem.obj(**arguments))
    return True
