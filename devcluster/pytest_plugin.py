"""Fixtures: one cluster for the whole test run, and a namespace for each test that asks for it.

With the environment variable DEVCLUSTER_VERSION=1.33 all clusters run the servers of that version.
Tests of what only some versions have say so:
`@pytest.mark.kubernetes_version("since", "1.33", "why")`, or "before".
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster import pins
from devcluster.cluster import Cluster
from devcluster.errors import ApiError
from devcluster.waiting import wait_for

_MARKER = "kubernetes_version"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(bound, version, why): runs only on Kubernetes 'since' or 'before' this version",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    running = pins.chosen_version()
    for marker in item.iter_markers(_MARKER):
        bound, version, why = marker.args
        is_since = pins.as_numbers(running) >= pins.as_numbers(version)
        if is_since != {"since": True, "before": False}[bound]:
            pytest.skip(f"Kubernetes {running}: {why}")


def pytest_report_header() -> str:
    return f"kubernetes: {pins.chosen_version()}"


@pytest.fixture(scope="session")
def cluster_options() -> dict[str, Any]:
    """The arguments of Cluster; a conftest may override them."""
    return {}


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, cluster_options: dict[str, Any]) -> Iterator[Cluster]:
    started = Cluster(**cluster_options)
    started.open()
    try:
        yield started
    finally:
        started.close(failed=request.session.testsfailed > 0)


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace in which pods can be created; its deletion at the end is not waited for."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{words or 'test'}-{uuid.uuid4().hex[:8]}"
    api = cluster.api
    api.create(
        "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
    )
    wait_for(lambda: _has_account(cluster, name), f"the default ServiceAccount of {name}")
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


def _has_account(cluster: Cluster, namespace: str) -> bool:
    try:
        cluster.api.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True
