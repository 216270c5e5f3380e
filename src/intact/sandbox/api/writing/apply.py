"""Server-side apply: what a manager applies is merged in, and what it drops is removed."""

from typing import Any

from intact.sandbox.api.failures import apply_conflict, bad_request
from intact.sandbox.api.objects import Json, copied
from intact.sandbox.api.writing.fields import (
    Fields,
    Path,
    Shapes,
    changed_fields,
    fields_of,
    item_step,
    path_text,
    union,
    without_path,
)
from intact.sandbox.api.writing.managers import (
    Owned,
    Owner,
    Owners,
    ignored_fields,
    read_owners,
    without_fields,
    write_owners,
)


def apply(
    live: Json | None,
    applied: Json,
    owner: Owner,
    now: str,
    shapes: Shapes,
    *,
    force: bool,
    status: bool,
) -> Json:
    """The object after an apply. Raises 409 where another manager owns a field that it changes."""
    if (applied.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    owners = read_owners(live)
    base = copied(live) if live is not None else {}

    def counted(fields: Fields) -> Fields:
        return ignored_fields(fields, owner.subresource, has_status=status, custom=not shapes.typed)

    config = counted(fields_of(applied, shapes, maps=False))
    merged: Json = _merge(base, applied, "", shapes)
    before = owners.get(owner)
    if before is not None:
        others = union(owned.fields for other, owned in owners.items() if other != owner)
        _prune(merged, before.fields, config | others, shapes)
    touched, removed = map(counted, changed_fields(base, merged, shapes))
    if not force:
        _refuse_conflicts(owners, touched, owner)
    owners = without_fields(owners, touched | removed, but=owner)
    unchanged = before is not None and before.fields == config and merged == base
    if config:
        owners[owner] = before if unchanged and before else Owned(config, now)
    else:
        owners.pop(owner, None)
    merged.setdefault("metadata", {})["managedFields"] = write_owners(owners)
    return merged


def _merge(live: Any, applied: Any, name: str, shapes: Shapes) -> Any:
    if isinstance(applied, dict) and isinstance(live, dict) and not shapes.is_atomic(name):
        result = dict(live)
        for key, value in applied.items():
            result[key] = _merge(live.get(key), value, key, shapes)
        return result
    if isinstance(applied, list) and isinstance(live, list):
        if shapes.is_set(name):
            return list(dict.fromkeys((*live, *applied)))
        keys = shapes.keys(name, [*live, *applied])
        if keys is not None:
            return _merge_items(live, applied, keys, shapes)
    return applied


def _merge_items(
    live: list[Any], applied: list[Any], keys: tuple[str, ...], shapes: Shapes
) -> list[Any]:
    result = {item_step(keys, item): item for item in live}
    for item in applied:
        step = item_step(keys, item)
        result[step] = _merge(result.get(step), item, "", shapes)
    return list(result.values())


def _prune(merged: Json, last: Fields, claimed: Fields, shapes: Shapes) -> None:
    """Removes what the manager applied last time but not this time, and no other manager claims."""
    claimed_prefixes = {path[:depth] for path in claimed for depth in range(1, len(path) + 1)}
    # Outer ones first: an item goes as a whole, before it loses the key that it is found by.
    for path in sorted(last - claimed, key=lambda each: (len(each), each)):
        if path not in claimed_prefixes:
            without_path(merged, path, shapes)


def _refuse_conflicts(owners: Owners, touched: Fields, owner: Owner) -> None:
    conflicts: list[tuple[str, Path]] = []
    for other, owned in owners.items():
        if other != owner:
            conflicts += [(_named(other), path) for path in sorted(owned.fields & touched)]
    if not conflicts:
        return
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {manager}",
            "field": path_text(path),
        }
        for manager, path in conflicts
    ]
    raise apply_conflict(_conflict_message(conflicts), causes)


def _conflict_message(conflicts: list[tuple[str, Path]]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {path_text(path)}"
    lines = []
    for manager in sorted({manager for manager, _path in conflicts}):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {path_text(path)}" for other, path in conflicts if other == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _named(owner: Owner) -> str:
    text = f'"{owner.manager}"'
    if owner.subresource:
        text += f' with subresource "{owner.subresource}"'
    if owner.operation == "Update":
        text += f" using {owner.api_version}"
    return text
