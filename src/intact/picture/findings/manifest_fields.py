"""Fields of a budget's manifest that the API does not know, by comparison with its view."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

import msgspec

from intact.model.base import View
from intact.model.field_error import FieldError
from intact.model.pdb import PdbSpec
from intact.model.pub import PubSpec

_SPECS: Mapping[str, type[View]] = {"PodDisruptionBudget": PdbSpec, "PodUnavailableBudget": PubSpec}
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")


def unknown_fields(manifest: Mapping[str, Any]) -> list[FieldError]:
    """Of a budget of either kind; none of other objects."""
    spec = _SPECS.get(str(manifest.get("kind")))
    if spec is None:
        return []
    found = [_unknown(str(key), "", _TOP) for key in manifest if key not in _TOP]
    return [*found, *_below(spec, manifest.get("spec"), "spec")]


def _below(view: type[View], value: object, path: str) -> Iterator[FieldError]:
    if not isinstance(value, Mapping):
        return
    known = {field.encode_name: field.type for field in msgspec.structs.fields(view)}
    for key, each in value.items():
        if key not in known:
            yield _unknown(str(key), f"{path}.", tuple(known))
            continue
        for inner in _views(known[key]):
            values = each if isinstance(each, list) else [each]
            for index, one in enumerate(values):
                at = f"[{index}]" if isinstance(each, list) else ""
                yield from _below(inner, one, f"{path}.{key}{at}")


def _views(kind: Any) -> list[type[View]]:
    parts = [kind, *(inner for each in get_args(kind) for inner in (each, *get_args(each)))]
    return [part for part in parts if isinstance(part, type) and issubclass(part, View)]


def _unknown(key: str, path: str, known: tuple[str, ...]) -> FieldError:
    meant = get_close_matches(key, known, 1)
    hint = f"; did you mean {meant[0]}?" if meant else ""
    return FieldError(f"{path}{key}", None, f"the API does not know this field{hint}")
