"""The manifests: what is there, and that the parts fit each other."""

from pathlib import Path
from typing import Any

import pytest

from intact.kube.client import Client
from intact.operator.install.manifests import everything, manifests
from intact.operator.install.settings import MEMORY_LIMIT, Settings, read_settings
from intact.operator.names import LABELS
from tests.unit.operator.install.cluster import create_all, new_api

Json = dict[str, Any]


def made(**values: Any) -> list[Json]:
    return manifests(read_settings({"image": "example.test/intact:1"} | values), namespace="home")


def found(kind: str, name: str = "intact", **values: Any) -> Json:
    [one] = [
        each for each in made(**values) if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    return one


def kinds(**values: Any) -> set[str]:
    return {each["kind"] for each in made(**values)}


def container() -> Json:
    [only] = found("Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(only)


async def test_all_can_be_created_one_after_another() -> None:
    await create_all(Client(new_api()), manifests(Settings(image="intact:1"), namespace="home"))


def test_image_replicas_and_namespace_are_those_that_were_asked_for() -> None:
    assert container()["image"] == "example.test/intact:1"
    assert found("Deployment", replicas=5)["spec"]["replicas"] == 5
    namespaces = {
        one["metadata"].get("namespace", "home") for one in manifests(Settings(), namespace="home")
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
    assert spec["selector"]["matchLabels"] == LABELS
    assert spec["template"]["metadata"]["labels"].items() >= LABELS.items()
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
    webhook, _ = found("NetworkPolicy", networkPolicy={"apiServerCidrs": cidrs})["spec"]["ingress"]
    assert [each["ipBlock"]["cidr"] for each in webhook["from"]] == list(cidrs)


def test_the_default_memory_limit_is_in_the_sizing_table() -> None:
    page = (Path(__file__).parents[4] / "docs/install.md").read_text()
    assert f"`{MEMORY_LIMIT}`, the default |" in page


def test_there_is_a_quota_for_critical_priority_classes_only() -> None:
    for name in ("system-cluster-critical", "system-node-critical"):
        spec = found("ResourceQuota", priorityClass=name)["spec"]
        [scope] = spec["scopeSelector"]["matchExpressions"]
        assert scope == {"scopeName": "PriorityClass", "operator": "In", "values": [name]}
    assert "ResourceQuota" in kinds()
    for name in ("none", "high"):
        assert "ResourceQuota" not in kinds(priorityClass=name)


def test_host_network_needs_the_privileged_level_and_has_no_network_policy() -> None:
    host = {"hostNetwork": True}
    labels = found("Namespace", "home", webhook=host)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    assert "NetworkPolicy" not in kinds(webhook=host)
    assert "NetworkPolicy" not in kinds(networkPolicy={"enabled": False})


def test_a_service_monitor_asks_the_port_of_the_metrics() -> None:
    settings = {"enabled": True, "interval": "1m", "labels": {"release": "prometheus"}}
    monitor = found("ServiceMonitor", metrics={"serviceMonitor": settings})
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    [endpoint] = monitor["spec"]["endpoints"]
    wanted = {"port": "http", "path": "/metrics", "interval": "1m", "honorLabels": True}
    assert endpoint == wanted
    service = found("Service", "intact-metrics")
    assert (
        service["metadata"]["labels"].items() >= monitor["spec"]["selector"]["matchLabels"].items()
    )
    assert service["spec"]["ports"][0]["name"] == "http"


def test_everything_is_what_there_is_with_some_settings() -> None:
    assert {each["kind"] for each in everything("home")} == kinds() | {"ServiceMonitor"}


def test_every_object_has_the_labels_of_kubernetes_and_those_that_were_asked_for() -> None:
    for each in made(labels={"team": "infra"}):
        labels = each["metadata"]["labels"]
        names = {key.partition("/")[2] for key in labels if key.startswith("app.kubernetes.io/")}
        assert names == {"name", "instance", "version", "component", "part-of", "managed-by"}
        assert labels["team"] == "infra"


@pytest.mark.parametrize("name", ["default", "kube-public", "kube-system"])
def test_a_namespace_that_every_cluster_has_is_left_as_it_is(name: str) -> None:
    """Other pods run there, which its level of Pod Security or a quota would refuse."""
    there = {each["kind"] for each in manifests(Settings(), namespace=name)}
    left_out = {"Namespace"} | ({"ResourceQuota"} if name == "kube-system" else set())
    assert kinds() - there == left_out
