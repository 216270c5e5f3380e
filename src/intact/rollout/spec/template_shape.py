"""The shape of a pod template, as far as Intact adds to it.

Intact passes templates on, and the API server validates them when a workload is made of one. But
the parts that Intact adds to must have their form, and the user should learn of an error at once.
"""

from collections.abc import Iterator
from typing import Any

from intact.model.field_error import FieldError

_NAMED = ("containers", "initContainers", "volumes")


def shape_errors(template: dict[str, Any], path: str) -> Iterator[FieldError]:
    """Of a template, or of a patch on one."""
    metadata, spec = template.get("metadata"), template.get("spec")
    yield from _object(metadata, f"{path}.metadata")
    if isinstance(metadata, dict):
        for key in ("labels", "annotations"):
            yield from _strings(metadata.get(key), f"{path}.metadata.{key}")
    yield from _object(spec, f"{path}.spec")
    if isinstance(spec, dict):
        for key in _NAMED:
            yield from _list(spec.get(key), f"{path}.spec.{key}", named=True)


def _object(value: Any, path: str) -> Iterator[FieldError]:
    if value is not None and not isinstance(value, dict):
        yield FieldError(path, value, "must be an object")


def _strings(value: Any, path: str) -> Iterator[FieldError]:
    yield from _object(value, path)
    for name, text in value.items() if isinstance(value, dict) else ():
        if not isinstance(text, str):
            yield FieldError(f"{path}[{name}]", text, "must be a string")


def _list(value: Any, path: str, *, named: bool) -> Iterator[FieldError]:
    if value is not None and not isinstance(value, list):
        yield FieldError(path, value, "must be a list")
    for index, one in enumerate(value if isinstance(value, list) else ()):
        at = f"{path}[{index}]"
        if not isinstance(one, dict):
            yield FieldError(at, one, "must be an object")
            continue
        name = one.get("name")
        if named and not (isinstance(name, str) and name):
            yield FieldError(f"{at}.name", name, "must be a name")
        yield from _list(one.get("env"), f"{at}.env", named=True)
        yield from _list(one.get("volumeMounts"), f"{at}.volumeMounts", named=False)
