"""The manifests: what is there, and that the parts fit each other."""

from typing import Any

import pytest

from intact.kube.client import Client
from intact.operator.install.manifests import manifests
from intact.operator.names import LABELS
from tests.unit.operator.install.cluster import create_all, new_api

Json = dict[str, Any]


def found(kind: str, name: str = "intact", **options: Any) -> Json:
    every = manifests(namespace="home", image="example.test/intact:1", **options)
    [one] = [each for each in every if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return one


def container() -> Json:
    [only] = found("Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(only)


async def test_all_can_be_created_one_after_another() -> None:
    await create_all(Client(new_api()), manifests(namespace="home", image="intact:1"))


def test_image_replicas_and_namespace_are_those_that_were_asked_for() -> None:
    assert container()["image"] == "example.test/intact:1"
    assert found("Deployment", replicas=5)["spec"]["replicas"] == 5
    namespaces = {
        one["metadata"].get("namespace", "home") for one in manifests(namespace="home", image="")
    }
    assert namespaces == {"home"}


@pytest.mark.parametrize(("service", "port"), [("intact-webhook", 443), ("intact-metrics", 8080)])
def test_each_service_leads_to_a_port_of_the_pods(service: str, port: int) -> None:
    spec = found("Service", service)["spec"]
    assert spec["selector"] == LABELS
    assert spec["ports"][0]["port"] == port
    named = {one["name"]: one["containerPort"] for one in container()["ports"]}
    target = spec["ports"][0]["targetPort"]
    assert any(argument.endswith(f":{named[target]}") for argument in container()["args"])


def test_the_webhooks_are_registered_by_their_service() -> None:
    assert "--webhook-service=home/intact-webhook" in container()["args"]


def test_pods_are_labelled_as_everything_selects_them() -> None:
    spec = found("Deployment")["spec"]
    assert spec["template"]["metadata"]["labels"] == spec["selector"]["matchLabels"] == LABELS
    assert found("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == LABELS


def test_a_pod_meets_the_restricted_security_standard_that_its_namespace_enforces() -> None:
    labels = found("Namespace", "home")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    security = container()["securityContext"]
    assert (security["runAsNonRoot"], security["allowPrivilegeEscalation"]) == (True, False)
    assert security["capabilities"] == {"drop": ["ALL"]}
