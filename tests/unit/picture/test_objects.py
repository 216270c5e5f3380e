"""What a picture is drawn from: by default nothing is known."""

import msgspec

from intact.model.workload import Workload
from intact.picture.objects import Objects, OwnerObject, owner_object


def test_nothing_is_known_by_default() -> None:
    found = Objects()
    assert not any((found.pods, found.nodes, found.pdbs, found.pubs, found.rbgs, found.owners))
    assert found.intact is None
    assert found.leading is None
    assert found.unreadable == {}


def test_an_owner_need_not_say_how_many_pods_it_wants() -> None:
    assert OwnerObject("apps", "ReplicaSet", "llm", "web", "uid").replicas is None


def test_an_owner_is_read_off_its_object() -> None:
    body = {
        "metadata": {"name": "web", "namespace": "llm", "uid": "u"},
        "spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}}},
    }
    found = owner_object("apps", "ReplicaSet", msgspec.convert(body, Workload))
    assert found == OwnerObject(
        "apps", "ReplicaSet", "llm", "web", "u", [], replicas=2, labels={"app": "web"}
    )
