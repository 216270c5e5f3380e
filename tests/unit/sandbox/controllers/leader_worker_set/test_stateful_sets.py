"""The StatefulSets of a LeaderWorkerSet: names, labels, annotations, owners."""

from intact.sandbox.controllers.leader_worker_set.kind import (
    EXCLUSIVE,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    NAME,
    REPLICAS,
    REVISION,
    SIZE,
    WORKER_INDEX,
)
from intact.sandbox.controllers.leader_worker_set.rolling import Leaders
from intact.sandbox.controllers.leader_worker_set.stateful_sets import of_leaders, of_workers
from tests.support.objects import Json, pod
from tests.unit.sandbox.controllers.leader_worker_set.scene import leader_worker_set


def stored(**annotations: str) -> Json:
    body = leader_worker_set(replicas=4, size=3)
    body["metadata"] |= {"namespace": "ns", "uid": "1", "annotations": annotations}
    return body


def leader() -> Json:
    labels = {NAME: "llm", WORKER_INDEX: "0", GROUP_INDEX: "2", GROUP_KEY: "k", REVISION: "r"}
    return pod("llm-2", labels=labels, namespace="ns", uid="2")


def test_that_of_the_leaders() -> None:
    found = of_leaders(stored(), "r", Leaders(partition=3, replicas=5))
    meta, spec = found["metadata"], found["spec"]
    assert (meta["name"], meta["labels"]) == ("llm", {NAME: "llm", REVISION: "r"})
    assert meta["annotations"] == {REPLICAS: "4"}
    assert (spec["replicas"], spec["podManagementPolicy"]) == (5, "Parallel")
    assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "partition": 3}
    assert spec["selector"] == {"matchLabels": {NAME: "llm", WORKER_INDEX: "0"}}
    template = spec["template"]["metadata"]
    own = {NAME: "llm", WORKER_INDEX: "0", REVISION: "r"}
    assert template["labels"] == {"app": "llm", **own}
    assert template["annotations"] == {SIZE: "3"}


def test_that_of_the_workers_of_a_group() -> None:
    found = of_workers(stored(), leader())
    meta, spec = found["metadata"], found["spec"]
    [owner] = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["blockOwnerDeletion"]) == ("Pod", "2", True)
    assert (meta["name"], spec["replicas"], spec["ordinals"]) == ("llm-2", 2, {"start": 1})
    own = {NAME: "llm", GROUP_INDEX: "2", GROUP_KEY: "k"}
    assert spec["selector"] == {"matchLabels": own}
    assert meta["labels"] == {**own, REVISION: "r"}
    template = spec["template"]["metadata"]
    assert template["labels"] == {"app": "llm", **own, REVISION: "r"}
    assert template["annotations"] == {SIZE: "3", LEADER_NAME: "llm-2"}


def test_the_exclusive_topology_is_passed_on() -> None:
    each = stored(**{EXCLUSIVE: "rack"})
    for found in (of_leaders(each, "r", Leaders(0, 4)), of_workers(each, leader())):
        assert found["spec"]["template"]["metadata"]["annotations"][EXCLUSIVE] == "rack"


def test_the_service_is_shared_or_one_for_each_group() -> None:
    each = stored()
    assert of_workers(each, leader())["spec"]["serviceName"] == "llm"
    each["spec"]["networkConfig"] = {"subdomainPolicy": "UniquePerReplica"}
    assert of_workers(each, leader())["spec"]["serviceName"] == "llm-2"
