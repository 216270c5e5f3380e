"""The manifests: what is there, and that the parts fit each other."""

from pathlib import Path
from typing import Any

import pytest

from intact.kube.client import Client
from intact.operator.install.manifests import MEMORY_LIMIT, manifests
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


def test_the_network_policy_opens_the_two_ports_and_no_other() -> None:
    spec = found("NetworkPolicy")["spec"]
    assert spec["podSelector"]["matchLabels"] == LABELS
    assert spec["policyTypes"] == ["Ingress"]
    webhook, pages = spec["ingress"]
    assert [port["port"] for port in (*webhook["ports"], *pages["ports"])] == ["webhook", "http"]
    assert {port["name"] for port in container()["ports"]} == {"webhook", "http"}
    assert "from" not in webhook, "the address of the API server is not known"
    assert pages["from"] == [{"namespaceSelector": {}}]


def test_the_network_policy_takes_the_addresses_of_the_api_servers() -> None:
    cidrs = ("10.0.0.1/32", "10.0.0.2/32")
    webhook, _ = found("NetworkPolicy", api_server_cidrs=cidrs)["spec"]["ingress"]
    assert [each["ipBlock"]["cidr"] for each in webhook["from"]] == list(cidrs)


def test_a_replica_has_the_memory_limit_that_was_asked_for() -> None:
    assert container()["resources"]["limits"] == {"memory": MEMORY_LIMIT}
    [only] = found("Deployment", memory_limit="2Gi")["spec"]["template"]["spec"]["containers"]
    assert only["resources"]["limits"] == {"memory": "2Gi"}


def test_the_default_memory_limit_is_in_the_sizing_table() -> None:
    page = (Path(__file__).parents[4] / "docs/install.md").read_text()
    assert f"`{MEMORY_LIMIT}`, the default |" in page
