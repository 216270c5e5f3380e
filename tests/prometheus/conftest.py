"""A cluster with Intact for these tests, and a namespace."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.cluster_with_intact import ClusterWithIntact, shared_cluster
from tests.support.namespace_under_test import NamespaceUnderTest, open_namespace


@pytest.fixture(scope="module")
def intact_cluster(request: pytest.FixtureRequest) -> ClusterWithIntact:
    return shared_cluster(request, ClusterWithIntact)


@pytest.fixture
def ns(
    intact_cluster: ClusterWithIntact, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    intact_cluster.restore()
    yield from open_namespace(intact_cluster.cluster, runner, request)
