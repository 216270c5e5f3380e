"""Which manager owns which field: `metadata.managedFields`, kept up to date by every write."""

from dataclasses import dataclass

from intact.sandbox.api.objects import Json
from intact.sandbox.api.writing.fields import (
    Fields,
    Shapes,
    changed_fields,
    from_fields_v1,
    to_fields_v1,
)


@dataclass(frozen=True, slots=True)
class Owner:
    manager: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    fields: Fields
    time: str


Owners = dict[Owner, Owned]


def read_owners(obj: Json | None) -> Owners:
    entries = ((obj or {}).get("metadata") or {}).get("managedFields") or ()
    return {
        Owner(
            entry.get("manager", ""),
            entry.get("operation", "Update"),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        ): Owned(from_fields_v1(entry.get("fieldsV1") or {}), entry.get("time", ""))
        for entry in entries
    }


def write_owners(owners: Owners) -> list[Json]:
    """Appliers first, then by time: the order that kube-apiserver keeps."""
    ordered = sorted(
        owners.items(), key=lambda each: (each[0].operation, each[1].time, each[0].manager)
    )
    entries = []
    for owner, owned in ordered:
        entry: Json = {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": owner.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(owned.fields),
        }
        if owned.time:
            entry["time"] = owned.time
        if owner.subresource:
            entry["subresource"] = owner.subresource
        entries.append(entry)
    return entries


def without_fields(owners: Owners, fields: Fields, *, but: Owner) -> Owners:
    """Takes fields away from all other owners."""
    left: Owners = {}
    for owner, owned in owners.items():
        if owner != but and not owned.fields.isdisjoint(fields):
            remaining = owned.fields - fields
            if remaining:
                left[owner] = Owned(remaining, owned.time)
        else:
            left[owner] = owned
    return left


def ignored_fields(fields: Fields, subresource: str, *, has_status: bool, custom: bool) -> Fields:
    """Drops what the endpoint resets anyway: a manager does not own it by sending it there."""
    reset: tuple[str, ...] = ("f:status",) if has_status else ()
    if subresource == "status":
        reset = ("f:spec", "f:metadata") if custom else ("f:spec",)
    return frozenset(path for path in fields if path[0] not in reset)


def record_update(
    live: Json | None, new: Json, owner: Owner, now: str, shapes: Shapes, *, status: bool
) -> list[Json]:
    """The entries after a write that is not an apply: what it changes is its manager's."""
    owners = read_owners(live)
    touched, removed = changed_fields(live or {}, new, shapes)
    custom = not shapes.typed
    touched = ignored_fields(touched, owner.subresource, has_status=status, custom=custom)
    removed = ignored_fields(removed, owner.subresource, has_status=status, custom=custom)
    owners = without_fields(owners, touched | removed, but=owner)
    before = owners[owner].fields if owner in owners else frozenset()
    fields = (before - removed) | touched
    if not fields:
        owners.pop(owner, None)
    elif fields != before:
        # kube-apiserver does not date what comes through /scale.
        owners[owner] = Owned(fields, "" if owner.subresource == "scale" else now)
    return write_owners(owners)
