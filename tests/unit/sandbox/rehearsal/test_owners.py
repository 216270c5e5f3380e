"""A pod belongs to the workload at the top of its owners, but not to a RoleBasedGroup."""

import pytest

from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.owners import Owners, Workload
from tests.support.small_clusters import LWS, SmallCluster


def made() -> tuple[MemoryApi, Owners]:
    cluster = SmallCluster()
    cluster.deployment("web", ["node-0"])
    group = {"apiVersion": "workloads.x-k8s.io/v1alpha1", "kind": "RoleBasedGroup", "metadata": {
        "name": "llm", "uid": "u"}}  # fmt: skip
    sets = cluster.stateful_set("llm-prefill", ["node-1"], {})
    sets["metadata"]["ownerReferences"] = [
        {"apiVersion": group["apiVersion"], "kind": group["kind"], "name": "llm", "uid": "u",
         "controller": True}
    ]  # fmt: skip
    cluster.pod("bare", "node-0")
    cluster.pod("led", "node-0", labels={f"{LWS}/name": "shards"})
    api = MemoryApi()
    load(cluster.snapshot(), api)
    return api, Owners(api)


@pytest.mark.parametrize(
    ("pod", "workload"),
    [
        ("web-5d4f8c7d9-pod0", Workload("default", "Deployment", "web")),
        ("llm-prefill-0", Workload("default", "StatefulSet", "llm-prefill")),
        ("bare", Workload("default", "Pod", "bare")),
        ("led", Workload("default", "LeaderWorkerSet", "shards")),
    ],
)
def test_the_workload_of_a_pod(pod: str, workload: Workload) -> None:
    api, owners = made()
    found = api.peek("pods", "default", pod)
    assert found is not None
    assert owners.workload_of(found) == workload


def test_all_owners_above_a_pod() -> None:
    api, owners = made()
    pod = api.peek("pods", "default", "web-5d4f8c7d9-pod0")
    assert pod is not None
    assert [each["kind"] for each in owners.above(pod)] == ["ReplicaSet", "Deployment"]
    owner = owners.owner_of(pod)
    assert owner is not None
    assert owner["kind"] == "ReplicaSet"


def test_an_owner_of_another_uid_is_not_the_owner() -> None:
    api, owners = made()
    pod = api.peek("pods", "default", "web-5d4f8c7d9-pod0")
    assert pod is not None
    reference = pod["metadata"]["ownerReferences"][0] | {"uid": "another"}
    other = {**pod, "metadata": {**pod["metadata"], "ownerReferences": [reference]}}
    assert owners.owner_of(other) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("web", True),
        ("shop/web", True),
        ("deployment/web", True),
        ("Deployment/web", True),
        ("api", False),
        ("other/web", False),
    ],
)
def test_how_a_workload_is_named(text: str, named: bool) -> None:
    assert Workload("shop", "Deployment", "web").is_named(text) is named
