"""From a path to the kind, the object and the subresource."""

import pytest

from intact.kube.transport import Request
from intact.sandbox import DEFAULT_KINDS
from intact.sandbox.api.failures import Failure, NoSuchPage
from intact.sandbox.api.kinds import Registry
from intact.sandbox.api.routing import Call, Route, User, route

REGISTRY = Registry(DEFAULT_KINDS)

ROUTES = {
    "/api/v1/pods": ("pods", "", "", ""),
    "/api/v1/namespaces/ns/pods": ("pods", "ns", "", ""),
    "/api/v1/namespaces/ns/pods/p": ("pods", "ns", "p", ""),
    "/api/v1/namespaces/ns/pods/p/eviction": ("pods", "ns", "p", "eviction"),
    "/api/v1/namespaces/ns": ("namespaces", "", "ns", ""),
    "/api/v1/namespaces/ns/status": ("namespaces", "", "ns", "status"),
    "/api/v1/nodes/n/status": ("nodes", "", "n", "status"),
    "/apis/apps/v1/namespaces/ns/deployments/d/scale": ("deployments.apps", "ns", "d", "scale"),
    "/api/v1/namespaces/ns/configmaps/a%2Fb": ("configmaps", "ns", "a/b", ""),
}


@pytest.mark.parametrize("path", ROUTES)
def test_paths(path: str) -> None:
    found = route(path, REGISTRY)
    assert (found.kind.full_name, found.namespace, found.name, found.subresource) == ROUTES[path]


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/things",
        "/api/v2/pods",
        "/api/v1/pods/p",
        "/api/v1/namespaces/ns/nodes",
        "/api/v1/namespaces/ns/pods/p/log",
        "/api/v1/namespaces/ns/configmaps/c/status",
        "/api/v1/namespaces/ns/pods/p/status/more",
    ],
)
def test_a_path_at_which_nothing_is_served(path: str) -> None:
    with pytest.raises(Failure, match="could not find the requested resource"):
        route(path, REGISTRY)


@pytest.mark.parametrize("path", ["/", "/metrics", "/apis/nobody.dev/v1/things"])
def test_a_path_outside_of_every_group(path: str) -> None:
    with pytest.raises(NoSuchPage):
        route(path, REGISTRY)


def call(**query: str) -> Call:
    where = Route(DEFAULT_KINDS[0], "v1", "ns", "p")
    return Call(where, Request("GET", "/", query), User())


def test_the_options_of_a_call() -> None:
    found = call(dryRun="All", fieldManager="me", limit="5")
    assert (found.dry_run, found.manager, found.number("limit")) == (True, "me", 5)
    assert found.options("PatchOptions") == {
        "kind": "PatchOptions",
        "apiVersion": "meta.k8s.io/v1",
        "dryRun": ["All"],
        "fieldManager": "me",
    }
    bare = call()
    assert (bare.dry_run, bare.manager, bare.number("limit")) == (False, "intact", None)


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(Failure, match="invalid syntax"):
        call(limit="many").number("limit")
    with pytest.raises(Failure, match='Unsupported value: \\["Some"\\]'):
        call(dryRun="Some").check_dry_run("CreateOptions")
