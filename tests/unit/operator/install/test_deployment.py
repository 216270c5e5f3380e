"""The Deployment, by its settings."""

from typing import Any

from intact import __version__
from intact.operator.install.deployment import deployment
from intact.operator.install.settings import MEMORY_LIMIT, read_settings

Json = dict[str, Any]


def spec(**values: Any) -> Json:
    found: Json = deployment(read_settings(values), "home")["spec"]
    return found


def pod(**values: Any) -> Json:
    found: Json = spec(**values)["template"]["spec"]
    return found


def container(**values: Any) -> Json:
    [found] = pod(**values)["containers"]
    return dict(found)


def test_the_image_is_that_of_this_version_unless_another_is_given() -> None:
    assert container()["image"] == f"intact:{__version__}"
    assert container(image="a/b:c")["image"] == "a/b:c"
    assert container(imagePullPolicy="Always")["imagePullPolicy"] == "Always"
    assert pod(imagePullSecrets=["one"])["imagePullSecrets"] == [{"name": "one"}]
    assert "imagePullSecrets" not in pod()


def test_amounts_that_are_empty_are_left_out() -> None:
    assert container()["resources"]["limits"] == {"memory": MEMORY_LIMIT}
    given = {"requests": {"cpu": "", "memory": ""}, "limits": {"cpu": "1", "memory": "2Gi"}}
    found = container(resources=given)["resources"]
    assert found == {"requests": {}, "limits": {"cpu": "1", "memory": "2Gi"}}


def test_the_priority_class_can_be_left_out() -> None:
    assert pod()["priorityClassName"] == "system-cluster-critical"
    assert "priorityClassName" not in pod(priorityClass="none")


def test_ports_and_log_and_selector_are_arguments() -> None:
    found = container(
        webhook={"port": 10250},
        metrics={"port": 9090},
        log={"format": "text", "level": "debug"},
        namespaceSelector="env=prod",
        controllers=["pub"],
    )
    assert found["args"] == [
        "run",
        "--http-bind=:9090",
        "--webhook-bind=:10250",
        "--webhook-service=home/intact-webhook",
        "--controllers=pub",
        "--log-format=text",
        "--log-level=debug",
        "--namespace-selector=env=prod",
    ]
    assert [port["containerPort"] for port in found["ports"]] == [9090, 10250]


def test_in_the_network_of_the_nodes_an_old_pod_makes_room_for_a_new_one() -> None:
    host = {"hostNetwork": True}
    assert spec()["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    found = spec(webhook=host)
    assert found["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    assert found["template"]["spec"]["hostNetwork"] is True
    assert found["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert [port["hostPort"] for port in container(webhook=host)["ports"]] == [8080, 9443]


def test_it_can_run_on_chosen_nodes() -> None:
    tolerations = [{"key": "a", "operator": "Exists"}]
    found = pod(nodeSelector={"pool": "system"}, tolerations=tolerations)
    assert found["nodeSelector"] == {"pool": "system"}
    assert found["tolerations"] == tolerations
