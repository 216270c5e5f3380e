"""What all tests share: coroutines as tests, and the development cluster."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.support import resizes

_NEEDS = {
    "cluster": "kubernetes",
    "installation": "installation",
    "karpenter": "karpenter",
    "page": "page",
    "prometheus": "prometheus",
}
"""The marker of each directory of tests that need more than Python."""
pytest_plugins = ["devcluster.pytest_plugin"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of these directories need what `make` builds for them; those of tests/contract say it
    themselves."""
    for item in items:
        room = item.path.relative_to(item.config.rootpath).parts[1]
        if room in _NEEDS:
            item.add_marker(getattr(pytest.mark, _NEEDS[room]))


# How long an example takes says something about the machine, nothing about the code.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def cluster_options() -> dict[str, Any]:
    # Without a watch cache, watches of ConfigMaps come straight from etcd and end when etcd is
    # compacted. Nothing else makes a watch expire without a wait of minutes.
    flags = ["--watch-cache-sizes=configmaps#0", *resizes.APISERVER_FLAGS]
    return {"flags": {"kube-apiserver": flags}}


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
