"""PodGroups and Workloads. What both servers do alike is in tests/contract/test_pod_groups.py."""

from intact.kube.client import Client
from intact.sandbox import MemoryApi
from intact.sandbox.api.pod_groups import POD_GROUPS, PROTECTION, WORKLOADS
from tests.support.objects import Json
from tests.support.pdb_groups import POD_GROUPS as GROUPS


async def test_an_update_does_not_bring_the_protection_back(api: MemoryApi) -> None:
    api.register(WORKLOADS)
    api.register(POD_GROUPS)
    client = Client(api)
    spec: Json = {"schedulingPolicy": {"basic": {}}}
    body = {"metadata": {"name": "red", "finalizers": ["test/keep"]}, "spec": spec}
    made = await client.create(GROUPS, body, "default")
    assert made["metadata"]["finalizers"] == ["test/keep", PROTECTION]
    patch = {"metadata": {"finalizers": ["test/keep"]}}
    made = await client.patch(GROUPS, patch, "red", "default")
    assert made["metadata"]["finalizers"] == ["test/keep"]


def test_a_template_of_a_workload_has_one_policy() -> None:
    assert WORKLOADS.errors is not None
    [error] = WORKLOADS.errors({"spec": {"podGroupTemplates": [{"name": "worker"}]}})
    assert error.field == "spec.podGroupTemplates[0].schedulingPolicy"
