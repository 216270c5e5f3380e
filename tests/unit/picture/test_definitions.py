"""What defines groups, and what stands above pods."""

import msgspec

from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.picture.definitions import Owners, definitions_of
from intact.picture.objects import Objects, OwnerObject
from tests.support.pictures import pod

META = {"metadata": {"name": "x", "namespace": "llm"}}


def test_definitions_are_found_by_namespace_and_name() -> None:
    group = msgspec.convert(META, PodGroup)
    workload = msgspec.convert(META, GangWorkload)
    leaders = msgspec.convert(META, LeaderWorkerSet)
    found = definitions_of(
        Objects(pod_groups=[group], workloads=[workload], leader_worker_sets=[leaders])
    )
    here = found["llm"]
    assert here.pod_group("x") is group
    assert here.workload("x") is workload
    assert here.leader_worker_set("x") is leaders
    assert here.pod_group("y") is None
    assert found["elsewhere"].workload("x") is None


def test_the_owners_above_a_pod_are_nearest_first() -> None:
    above = pod("p", owner=("Deployment", "api")).metadata.owner_references
    owners = Owners(Objects(owners=[OwnerObject("", "ReplicaSet", "llm", "r", "uid-r", above)]))
    found = owners.above(pod("a", owner=("ReplicaSet", "r")))
    assert [one.name for one in found] == ["r", "api"]


def test_a_leader_pod_may_stand_above_pods() -> None:
    leader = pod("leader", owner=("StatefulSet", "llm"))
    owners = Owners(Objects(pods=[leader]))
    found = owners.above(pod("worker", owner=("Pod", "leader")))
    assert [one.name for one in found] == ["leader", "llm"]


def test_a_pod_without_an_owner_has_none() -> None:
    assert list(Owners(Objects()).above(pod("a", owner=None))) == []
