"""What tests on a cluster with Intact share: the cluster with its operators, and a namespace."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.cluster_with_account import ClusterWithAccount
from tests.support.cluster_with_intact import ClusterWithIntact, shared_cluster
from tests.support.namespace_under_test import NamespaceUnderTest, open_namespace
from tests.support.pdb_groups import ClusterWithPodGroups, Groups


@pytest.fixture(scope="module")
def intact_cluster(request: pytest.FixtureRequest) -> ClusterWithIntact:
    """A module that needs another kind of cluster overrides this with one of the fixtures below."""
    return shared_cluster(request, ClusterWithIntact)


@pytest.fixture(scope="module")
def cluster_with_pod_groups(request: pytest.FixtureRequest) -> ClusterWithIntact:
    return shared_cluster(request, ClusterWithPodGroups)


@pytest.fixture
def cluster_with_account(request: pytest.FixtureRequest) -> Iterator[ClusterWithIntact]:
    """After each test, the API server must have forbidden nothing that Intact asked for."""
    found = shared_cluster(request, ClusterWithAccount)
    yield found
    assert found.forbidden() == []


@pytest.fixture
def ns(
    intact_cluster: ClusterWithIntact, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    """A namespace for this test alone, on a cluster where both operators run."""
    intact_cluster.restore()
    yield from open_namespace(intact_cluster.cluster, runner, request)


@pytest.fixture
def groups(ns: NamespaceUnderTest) -> Groups:
    return Groups(ns)
