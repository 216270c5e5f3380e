"""Workloads of RoleBasedGroups have what the operator adds to their templates."""

from intact.sandbox.api.objects import copied
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.load import load
from tests.unit.sandbox.rehearsal.rbg_scene import rbg_snapshot


def environment(api: MemoryApi, name: str) -> list[str]:
    found = api.peek("statefulsets.apps", "default", name)
    assert found is not None
    [container] = found["spec"]["template"]["spec"]["containers"]
    return [each["name"] for each in container.get("env", ())]


def test_the_operator_s_own_variables_are_there_again() -> None:
    api = MemoryApi()
    load(rbg_snapshot(), api)
    assert "RBG_ROLE_NAME" in environment(api, "llm-prefill")
    assert "PASSWORD" not in environment(api, "llm-prefill")


def test_a_workload_of_another_revision_is_left_alone() -> None:
    api, snapshot = MemoryApi(), rbg_snapshot()
    label = "rolebasedgroup.workloads.x-k8s.io/role-revision-hash-prefill"
    for each in snapshot.of("statefulsets.apps"):
        if label in each["metadata"]["labels"]:
            each["metadata"]["labels"] = copied(each["metadata"]["labels"]) | {label: "old"}
    load(snapshot, api)
    assert environment(api, "llm-prefill") == []
    assert "RBG_ROLE_NAME" in environment(api, "llm-decode")
