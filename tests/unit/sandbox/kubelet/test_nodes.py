"""New nodes, and what their kubelets say of them."""

from datetime import UTC, datetime

from intact.sandbox.api.pod_state import is_ready
from intact.sandbox.kubelet.nodes import PLENTY, is_managed, new_node, ready_status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_new_node_has_a_kubelet_a_hostname_and_plenty() -> None:
    node = new_node("x", labels={"zone": "a"}, allocatable={"cpu": "4"}, taints=[{"key": "k"}])
    assert is_managed(node)
    assert not is_ready(node)
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "x"
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["status"]["allocatable"] == PLENTY | {"cpu": "4"}
    assert node["spec"]["taints"] == [{"key": "k"}]


def test_a_ready_node() -> None:
    node = {"metadata": {"name": "x"}}
    assert not is_managed(node)
    ready = {**node, "status": ready_status(node, "10.64.0.1", NOW)}
    assert is_ready(ready)
    assert ready["status"]["allocatable"] == PLENTY
    assert {each["address"] for each in ready["status"]["addresses"]} == {"10.64.0.1", "x"}


def test_what_a_node_says_of_itself_stays() -> None:
    other = {"type": "Custom", "status": "True", "lastTransitionTime": "then"}
    lost = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "then"}
    fine = {"type": "DiskPressure", "status": "False", "lastTransitionTime": "then"}
    status = {"conditions": [other, lost, fine], "allocatable": {"cpu": "4"}}
    found = ready_status({"metadata": {"name": "x"}, "status": status}, "10.64.0.1", LATER)
    times = {each["type"]: each["lastTransitionTime"] for each in found["conditions"]}
    assert times["Custom"] == times["DiskPressure"] == "then"
    assert times["Ready"] == "2026-01-02T00:00:00Z"
    assert found["allocatable"] == {"cpu": "4"}
