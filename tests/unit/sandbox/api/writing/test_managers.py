"""Which manager owns which field."""

from intact.sandbox.api.objects import Json
from intact.sandbox.api.writing.fields import Shapes
from intact.sandbox.api.writing.managers import (
    Owned,
    Owner,
    ignored_fields,
    read_owners,
    record_update,
    without_fields,
    write_owners,
)

SHAPES = Shapes(typed=True)
ALICE, BOB = Owner("alice", "Update", "v1"), Owner("bob", "Apply", "v1")
A, B = ("f:data", "f:a"), ("f:data", "f:b")


def updated(live: Json | None, new: Json, owner: Owner = ALICE, now: str = "t1") -> Json:
    entries = record_update(live, new, owner, now, SHAPES, status=False)
    return new | {"metadata": {"managedFields": entries}}


def test_owners_are_written_and_read_again() -> None:
    owners = {ALICE: Owned(frozenset({A}), "t2"), BOB: Owned(frozenset({B}), "t3")}
    entries = write_owners(owners)
    assert [entry["manager"] for entry in entries] == ["bob", "alice"]  # appliers first
    assert read_owners({"metadata": {"managedFields": entries}}) == owners
    assert read_owners(None) == {}


def test_a_write_owns_what_it_changes_and_takes_it_from_others() -> None:
    first = updated(None, {"data": {"a": "1", "b": "1"}})
    second = updated(first, {"data": {"a": "1", "b": "2"}}, Owner("carol", "Update", "v1"), "t2")
    owners = {owner.manager: owned for owner, owned in read_owners(second).items()}
    assert owners["carol"] == Owned(frozenset({B}), "t2")
    assert B not in owners["alice"].fields
    assert owners["alice"].time == "t1"


def test_an_owner_of_nothing_is_forgotten() -> None:
    owners = {ALICE: Owned(frozenset({A}), "t1"), BOB: Owned(frozenset({A, B}), "t1")}
    assert without_fields(owners, frozenset({A}), but=BOB) == {BOB: owners[BOB]}


def test_what_an_endpoint_resets_is_not_owned() -> None:
    fields = frozenset({("f:spec", "f:a"), ("f:status", "f:b"), ("f:metadata", "f:labels")})

    def kept(subresource: str, *, custom: bool) -> set[str]:
        found = ignored_fields(fields, subresource, has_status=True, custom=custom)
        return {path[0] for path in found}

    assert kept("", custom=False) == {"f:spec", "f:metadata"}
    assert kept("status", custom=False) == {"f:status", "f:metadata"}
    assert kept("status", custom=True) == {"f:status"}


def test_writes_through_scale_have_no_date() -> None:
    scaled = updated(None, {"data": {"a": "1"}}, Owner("hpa", "Update", "v1", "scale"))
    [entry] = scaled["metadata"]["managedFields"]
    assert "time" not in entry
    assert entry["subresource"] == "scale"
