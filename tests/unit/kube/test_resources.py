"""Where the objects of a resource are."""

from typing import Any

import pytest

from intact.kube.resources import EVENTS, LEASES, PODS, Resource, untyped

NODES = untyped("", "v1", "nodes", "Node", namespaced=False)
WIDGETS = untyped("example.dev", "v1alpha1", "widgets", "Widget")


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
        (PODS, ("ns", "p"), "/api/v1/namespaces/ns/pods/p"),
        (PODS, ("ns", "p", "eviction"), "/api/v1/namespaces/ns/pods/p/eviction"),
        (EVENTS, ("ns",), "/api/v1/namespaces/ns/events"),
        (LEASES, ("ns", "l"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"),
        (WIDGETS, (), "/apis/example.dev/v1alpha1/widgets"),
        (NODES, (), "/api/v1/nodes"),
        (NODES, ("", "n"), "/api/v1/nodes/n"),
        (NODES, ("", "n", "status"), "/api/v1/nodes/n/status"),
        # A ClusterRole may be called like this; it must not become another path.
        (NODES, ("", "system:a/b?c"), "/api/v1/nodes/system%3Aa%2Fb%3Fc"),
        (PODS, ("../x",), "/api/v1/namespaces/..%2Fx/pods"),
    ],
)
def test_paths(resource: Resource[Any], where: tuple[str, ...], path: str) -> None:
    assert resource.path(*where) == path


def test_an_object_of_a_namespaced_resource_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="pods 'p': the namespace is missing"):
        PODS.path(name="p")


def test_a_resource_without_namespaces_takes_none() -> None:
    with pytest.raises(ValueError, match=r"nodes are not in a namespace \(got 'ns'\)"):
        NODES.path("ns")


@pytest.mark.parametrize(
    ("resource", "full_name", "api_version"),
    [
        (PODS, "pods", "v1"),
        (LEASES, "leases.coordination.k8s.io", "coordination.k8s.io/v1"),
        (WIDGETS, "widgets.example.dev", "example.dev/v1alpha1"),
    ],
)
def test_names(resource: Resource[Any], full_name: str, api_version: str) -> None:
    assert (resource.full_name, resource.api_version) == (full_name, api_version)
