"""The pods that workloads in files would make."""

from typing import Any

import pytest

from intact.cli.check.would_be import MOST_PODS, WouldBe
from tests.support.objects import daemon_set, deployment, pod, stateful_set


def made(manifest: Any, scaled: Any = None) -> WouldBe:
    manifest["metadata"]["namespace"] = "apps"
    found = WouldBe()
    found.add(manifest, scaled or {})
    return found


def test_the_pods_of_a_deployment() -> None:
    found = made(deployment("web", 3))
    assert [one.metadata.name for one in found.pods] == ["web-0", "web-1", "web-2"]
    assert {one.metadata.labels["app"] for one in found.pods} == {"web"}
    [owner] = found.pods[0].metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name) == ("apps/v1", "Deployment", "web")
    assert found.uncounted == set()


def without_replicas() -> Any:
    body = deployment("web")
    del body["spec"]["replicas"]
    return body


@pytest.mark.parametrize(
    ("manifest", "number", "counted"),
    [
        (without_replicas(), 1, True),
        (stateful_set("web", 0), 0, True),
        (daemon_set("web"), 1, False),
        (deployment("web", 2**31 - 1), MOST_PODS, False),
        (pod("web"), 1, True),
        ({"kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {}}}, 0, True),
        ({"kind": "ConfigMap", "metadata": {"name": "web"}}, 0, True),
        (deployment("web", 2) | {"kind": "Job", "spec": deployment("web")["spec"]}, 1, True),
    ],
)
def test_how_many_pods_there_would_be(manifest: Any, number: int, counted: bool) -> None:
    found = made(manifest)
    assert len(found.pods) == number
    assert bool(found.uncounted) is not counted


def test_a_kind_that_intact_does_not_know() -> None:
    body = deployment("web", 2) | {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet"}
    [owner] = made(body).pods[0].metadata.owner_references
    assert owner.kind == "CloneSet"


def test_an_autoscaler_says_how_many_there_are_at_least() -> None:
    assert len(made(without_replicas(), {("apps", "Deployment", "web"): 4}).pods) == 4


def test_a_template_that_cannot_be_read_makes_no_pods() -> None:
    body = deployment("web", 2)
    body["spec"]["template"]["metadata"]["labels"] = {"app": 1}
    assert made(body).pods == []
