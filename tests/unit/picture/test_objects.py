"""What a picture is drawn from: by default nothing is known."""

from intact.picture.objects import Objects, OwnerObject


def test_nothing_is_known_by_default() -> None:
    found = Objects()
    assert not any((found.pods, found.nodes, found.pdbs, found.pubs, found.rbgs, found.owners))
    assert found.intact is None
    assert found.leading is None
    assert found.unreadable == {}


def test_an_owner_need_not_say_how_many_pods_it_wants() -> None:
    assert OwnerObject("apps", "ReplicaSet", "llm", "web", "uid").replicas is None
