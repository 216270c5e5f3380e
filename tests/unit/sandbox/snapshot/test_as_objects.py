"""A picture of a snapshot is drawn from what one of the live cluster would be drawn from."""

from dataclasses import replace

from intact.picture.picture import draw
from intact.sandbox.snapshot.as_objects import objects_of
from intact.sandbox.snapshot.document import KindInfo, Unreadable
from tests.support.small_clusters import KINDS, SmallCluster
from tests.unit.sandbox.rehearsal.rbg_scene import rbg_snapshot


def web() -> SmallCluster:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    made.pub("all", {"app": "web"}, maxUnavailable=1)
    made.pod_group("g0", ["node-0", "node-1"])
    return made


def test_each_kind_has_its_place() -> None:
    found = objects_of(web().snapshot())
    assert [each.metadata.name for each in found.nodes] == ["node-0", "node-1", "node-2"]
    assert len(found.pods) == 4
    assert [each.metadata.name for each in found.pdbs] == ["web"]
    assert [each.metadata.name for each in found.pubs] == ["all"]
    assert [each.metadata.name for each in found.pod_groups] == ["g0"]
    assert {(one.group, one.kind, one.name, one.replicas) for one in found.owners} == {
        ("apps", "Deployment", "web", 2),
        ("apps", "ReplicaSet", "web-5d4f8c7d9", 2),
        ("apps", "StatefulSet", "g0", 2),
        ("scheduling.k8s.io", "PodGroup", "g0", None),
    }


def test_a_role_based_group_is_shown_and_owns() -> None:
    found = objects_of(rbg_snapshot())
    assert [each.metadata.name for each in found.rbgs] == ["llm"]
    assert "llm" in {one.name for one in found.owners if one.kind == "RoleBasedGroup"}


def test_the_owners_above_a_pod_are_found() -> None:
    found = objects_of(web().snapshot())
    picture = draw(found)
    [pod] = [each for each in found.pods if each.metadata.name == "web-5d4f8c7d9-pod0"]
    assert [one.kind for one in picture.owners.above(pod)] == ["ReplicaSet", "Deployment"]


def test_intact_that_runs_is_up_and_what_could_not_be_read_is_named() -> None:
    snapshot = web().snapshot()
    found = objects_of(snapshot)
    assert (found.intact, found.leading, found.unreadable) == (True, True, {})
    snapshot = replace(snapshot, intact=None, unreadable=[Unreadable("jobs.batch", "forbidden")])
    found = objects_of(snapshot)
    assert (found.intact, found.leading) == (None, None)
    assert found.unreadable == {"jobs.batch": "forbidden"}
    found = objects_of(replace(snapshot, intact=False))
    assert (found.intact, found.leading) == (False, None)


def test_a_budget_of_another_shape_holds_and_other_objects_of_another_shape_are_ignored() -> None:
    made = web()
    made.put("PodUnavailableBudget", "odd", spec={"maxUnavailable": [1]})
    made.put("ReplicaSet", "odd", spec={"replicas": "many"})
    made.put("Node", "odd", namespace="", spec={"taints": "none"})
    found = objects_of(made.snapshot())
    [odd] = [each for each in found.pubs if each.metadata.name == "odd"]
    assert odd.problems
    assert "odd" not in {one.name for one in found.owners}
    assert "odd" not in {one.metadata.name for one in found.nodes}


def test_kinds_that_only_the_cluster_knows_own_pods() -> None:
    snapshot = web().snapshot()
    kind = KindInfo("example.com", "v1", "fleets", "Fleet")
    fleet = {
        "apiVersion": kind.api_version,
        "kind": "Fleet",
        "metadata": {"name": "f", "namespace": "default", "uid": "f"},
    }
    snapshot = replace(
        snapshot,
        kinds=[*KINDS.values(), kind],
        objects=snapshot.objects | {kind.full_name: [fleet]},
    )
    found = [one for one in objects_of(snapshot).owners if one.kind == "Fleet"]
    assert [(one.group, one.name) for one in found] == [("example.com", "f")]
