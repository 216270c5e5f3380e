"""Fixtures: one cluster for the whole test run, and a namespace for each test that asks for it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import ApiError
from devcluster.waiting import wait_for


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
