"""A cluster with Intact and Karpenter for these tests, and a namespace with a NodePool."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.cluster_with_intact import shared_cluster
from tests.support.cluster_with_karpenter import ClusterWithKarpenter
from tests.support.namespace_under_test import NamespaceUnderTest, open_namespace
from tests.support.node_pool import NodePool


@pytest.fixture(scope="module")
def intact_cluster(request: pytest.FixtureRequest) -> ClusterWithKarpenter:
    return shared_cluster(request, ClusterWithKarpenter)


@pytest.fixture
def ns(
    intact_cluster: ClusterWithKarpenter, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    intact_cluster.restore()
    yield from open_namespace(intact_cluster.cluster, runner, request)


@pytest.fixture
def pool(ns: NamespaceUnderTest, runner: asyncio.Runner) -> Iterator[NodePool]:
    """Not created yet; its nodes are gone when the next test begins."""
    found = NodePool(ns)
    yield found
    runner.run(found.remove())
