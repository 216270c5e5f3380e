"""Sets of fields, as `metadata.managedFields` records them (FieldsV1).

A path is a tuple of FieldsV1 steps: `f:spec`, `k:{"name":"main"}` for an item of an associative
list, `v:"x"` for a member of a set. A set of fields is a frozenset of paths. Never iterate over one
without sorting: the order of a set of strings changes from run to run.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from intact.kube.strategic import SETS
from intact.sandbox.api.objects import Json, decode, encode
from intact.sandbox.api.writing.schema import (
    ATOMIC_MAPS,
    GRANULAR_MAPS,
    KEY_DEFAULTS,
    apply_keys,
)

Path: TypeAlias = tuple[str, ...]
Fields: TypeAlias = frozenset[Path]

_UNOWNED = frozenset(
    ("f:metadata", f"f:{name}")
    for name in (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
    )
)
"""Fields that no manager owns: the server sets them, or they name the object."""


class Shapes:
    """Which lists and maps merge, for one kind."""

    def __init__(self, *, typed: bool) -> None:
        self.typed = typed

    def keys(self, name: str, items: list[Any]) -> tuple[str, ...] | None:
        return apply_keys(name, items) if self.typed or name == "ownerReferences" else None

    def is_set(self, name: str) -> bool:
        return name in SETS

    def is_atomic(self, name: str) -> bool:
        return self.typed and name in ATOMIC_MAPS


def item_step(keys: tuple[str, ...], item: Json) -> str:
    named = {key: item.get(key, KEY_DEFAULTS.get(key)) for key in keys}
    return "k:" + encode({key: named[key] for key in sorted(named)}).decode()


def fields_of(obj: Json, shapes: Shapes, *, maps: bool = True) -> Fields:
    """Every field that an object sets; with `maps`, also the maps that these are in.

    An update owns a map that it makes, an apply only what it puts there.
    """
    found: set[Path] = set()
    for name, value in obj.items():
        if name not in ("apiVersion", "kind"):
            _collect(value, name, (f"f:{name}",), shapes, found, maps=maps)
    return _owned(found)


def _collect(
    value: Any, name: str, path: Path, shapes: Shapes, found: set[Path], *, maps: bool
) -> None:
    if isinstance(value, dict) and not shapes.is_atomic(name):
        if not value or (maps and name in GRANULAR_MAPS):
            found.add(path)
        for key, item in value.items():
            _collect(item, key, (*path, f"f:{key}"), shapes, found, maps=maps)
        return
    if isinstance(value, list):
        if shapes.is_set(name):
            found.update((*path, "v:" + encode(item).decode()) for item in value)
            return
        keys = shapes.keys(name, value)
        if keys is not None:
            for item in value:
                here = (*path, item_step(keys, item))
                found.add(here)
                for key, inner in item.items():
                    _collect(inner, key, (*here, f"f:{key}"), shapes, found, maps=maps)
            return
    found.add(path)


def changed_fields(old: Json, new: Json, shapes: Shapes) -> tuple[Fields, Fields]:
    """The fields that were added or given another value, and those that were removed."""
    comparison = _Comparison(shapes)
    for name in dict.fromkeys((*old, *new)):
        if name not in ("apiVersion", "kind"):
            comparison.of(old.get(name), new.get(name), name, (f"f:{name}",))
    return _owned(comparison.touched), _owned(comparison.removed)


class _Comparison:
    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self.touched: set[Path] = set()
        self.removed: set[Path] = set()

    def of(self, old: Any, new: Any, name: str, path: Path) -> None:
        if old == new:
            return
        whole = True
        if isinstance(old, dict) and isinstance(new, dict) and not self._shapes.is_atomic(name):
            if old and new:
                for key in dict.fromkeys((*old, *new)):
                    self.of(old.get(key), new.get(key), key, (*path, f"f:{key}"))
                return
            whole = False
        elif isinstance(old, list) and isinstance(new, list):
            keys = self._shapes.keys(name, [*old, *new])
            if keys is not None:
                self._of_items(old, new, keys, path)
                return
            whole = not self._shapes.is_set(name)
        before, after = self._all(old, name, path), self._all(new, name, path)
        self.touched |= after if whole else after - before
        self.removed |= before - after

    def _of_items(self, old: list[Any], new: list[Any], keys: tuple[str, ...], path: Path) -> None:
        before = {item_step(keys, item): item for item in old}
        after = {item_step(keys, item): item for item in new}
        for step in dict.fromkeys((*before, *after)):
            here = (*path, step)
            if step not in before:
                self.touched.add(here)
            elif step not in after:
                self.removed.add(here)
            left, right = before.get(step, {}), after.get(step, {})
            for key in dict.fromkeys((*left, *right)):
                self.of(left.get(key), right.get(key), key, (*here, f"f:{key}"))

    def _all(self, value: Any, name: str, path: Path) -> set[Path]:
        found: set[Path] = set()
        if value is not None:
            _collect(value, name, path, self._shapes, found, maps=True)
        return found


def _owned(found: set[Path]) -> Fields:
    return frozenset(path for path in found if path[:2] not in _UNOWNED and path != ("f:metadata",))


def _step_into(obj: Any, name: str, step: str, shapes: Shapes) -> Any:
    if step.startswith("f:"):
        return obj.get(step[2:]) if isinstance(obj, dict) else None
    if not isinstance(obj, list):
        return None
    if step.startswith("v:"):
        member = decode(step[2:])
        return member if member in obj else None
    keys = shapes.keys(name, obj) or ()
    return next((item for item in obj if item_step(keys, item) == step), None)


def without_path(obj: Json, path: Path, shapes: Shapes) -> None:
    """Removes what is at the path, and the containers that this leaves empty."""
    *parents, last = path
    trail: list[tuple[Any, str, str]] = []
    here: Any = obj
    name = ""
    for step in parents:
        trail.append((here, name, step))
        here = _step_into(here, name, step, shapes)
        if here is None:
            return
        name = step[2:] if step.startswith("f:") else ""
    _drop(here, name, last, shapes)
    for container, container_name, step in reversed(trail):
        if _step_into(container, container_name, step, shapes) not in ({}, []):
            return
        _drop(container, container_name, step, shapes)


def _drop(container: Any, name: str, step: str, shapes: Shapes) -> None:
    if step.startswith("f:"):
        if isinstance(container, dict):
            container.pop(step[2:], None)
    elif isinstance(container, list):
        found = _step_into(container, name, step, shapes)
        if found is not None:
            container.remove(found)


def to_fields_v1(fields: Fields) -> Json:
    root: Json = {}
    for path in sorted(fields):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return _without_lone_dots(root)


def _without_lone_dots(node: Json) -> Json:
    """A leaf is written as an empty object; only a node with children says that it is a member."""
    return {
        step: {} if step == "." or list(child) == ["."] else _without_lone_dots(child)
        for step, child in node.items()
    }


def from_fields_v1(node: Json) -> Fields:
    found: set[Path] = set()
    _read(node, (), found)
    return frozenset(found)


def _read(node: Json, path: Path, found: set[Path]) -> None:
    if not node and path:
        found.add(path)
    for step, child in node.items():
        if step == ".":
            found.add(path)
        else:
            _read(child, (*path, step), found)


def path_text(path: Path) -> str:
    """As conflicts name it: `.spec.containers[name="main"].image`."""
    text = ""
    for step in path:
        if step.startswith("f:"):
            text += f".{step[2:]}"
        elif step.startswith("v:"):
            text += f"[={step[2:]}]"
        else:
            keys = decode(step[2:])
            listed = ",".join(f"{key}={encode(value).decode()}" for key, value in keys.items())
            text += f"[{listed}]"
    return text


def union(sets: Iterable[Fields]) -> Fields:
    return frozenset().union(*sets)
