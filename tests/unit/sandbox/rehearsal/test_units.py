"""Which pods a budget covers, and which of them are one unit."""

import msgspec
import pytest

from intact.model.pod import Pod
from intact.picture.coverage import Unit
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.units import budgets_in, groups_in
from tests.support.small_clusters import LWS, SmallCluster


def made() -> SmallCluster:
    cluster = SmallCluster()
    cluster.deployment("web", ["node-0"])
    cluster.pod_group("red", ["node-0", "node-1", "node-2"], need=2)
    labels = {"app": "shards", f"{LWS}/name": "shards", f"{LWS}/group-key": "key-0", "shard": "a"}
    size = {"annotations": {f"{LWS}/size": "4"}}
    cluster.pod("shards-0", "node-0", labels=labels, metadata=size)
    return cluster


def unit(cluster: SmallCluster, pod_name: str) -> tuple[bool, Unit | None]:
    """Of the only budget."""
    api = MemoryApi()
    load(cluster.snapshot(), api)
    [budget] = budgets_in(api, pubs=True)
    obj = api.peek("pods", "default", pod_name)
    assert obj is not None
    pod = msgspec.convert(obj, Pod)
    return budget.covers(pod), budget.unit_of(pod)


def test_a_budget_without_groups_counts_pods() -> None:
    cluster = made()
    cluster.pdb("web", {"app": "web"}, maxUnavailable=1)
    uid = cluster.objects["pods"][0]["metadata"]["uid"]
    assert unit(cluster, "web-5d4f8c7d9-pod0") == (True, Unit(uid, 1))
    assert unit(cluster, "red-0")[0] is False


def test_a_labelled_budget_counts_pod_groups() -> None:
    cluster = made()
    cluster.pdb("llm", {"app": "llm"}, scope="Workload", maxUnavailable=1)
    assert unit(cluster, "red-0") == (True, Unit("red", 2))


def test_a_labelled_budget_counts_replicas_of_a_leader_worker_set() -> None:
    cluster = made()
    cluster.pdb("shards", {"app": "shards"}, scope="Workload", maxUnavailable=1)
    assert unit(cluster, "shards-0") == (True, Unit("key-0", 4))


def test_a_pub_counts_by_its_label() -> None:
    cluster = made()
    cluster.pub("shards", {"app": "shards"}, "shard", 3, maxUnavailable=1)
    assert unit(cluster, "shards-0") == (True, Unit("a", 3))
    assert unit(cluster, "red-0")[1] is None


@pytest.mark.parametrize(
    ("size", "need", "expected"),
    [("3", None, Unit("llm/0", 3)), ("3", 2, Unit("llm/0", 2)), ("", None, None)],
)
def test_a_pub_counts_batches_by_their_size(
    size: str, need: int | None, expected: Unit | None
) -> None:
    cluster = SmallCluster()
    key = "batch.coordination.workloads.x-k8s.io/pair"
    labels = {"app": "llm", key: "0", "rolebasedgroup.workloads.x-k8s.io/name": "llm"}
    stated = {"annotations": {"intact.dev/batch-size": size}}
    cluster.pod("llm-0", "node-0", labels=labels, metadata=stated)
    found = cluster.pub("llm", {"app": "llm"}, key, 1, maxUnavailable=1)
    found["spec"]["podGroupPolicy"]["minReadyReplicas"] = need
    assert unit(cluster, "llm-0") == (True, expected)


@pytest.mark.parametrize(("name", "covered"), [("web", True), ("other", False)])
def test_a_pub_may_name_a_workload_above_the_pods(name: str, covered: bool) -> None:
    cluster = made()
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    found = cluster.pub("web", {}, targetRef=target, maxUnavailable=1)
    del found["spec"]["selector"]
    assert unit(cluster, "web-5d4f8c7d9-pod0")[0] is covered


def test_pubs_hold_only_where_intact_runs() -> None:
    cluster, api = made(), MemoryApi()
    cluster.pub("web", {"app": "web"}, maxUnavailable=1)
    load(cluster.snapshot(), api)
    assert list(budgets_in(api, pubs=False)) == []
    [found] = budgets_in(api, pubs=True)
    assert str(found) == "PodUnavailableBudget default/web"


def test_a_pod_whose_group_is_not_defined_is_no_unit() -> None:
    cluster, api = made(), MemoryApi()
    cluster.objects["podgroups.scheduling.k8s.io"].clear()
    load(cluster.snapshot(), api)
    obj = api.peek("pods", "default", "red-0")
    assert groups_in(api, "default")(msgspec.convert(obj, Pod)) is None
