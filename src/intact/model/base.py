"""The base of all views."""

from typing import TypeVar, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """A partial view of a Kubernetes object.

    `gc=False`: views hold only plain data and can form no cycle, so the garbage collector need
    not walk hundreds of thousands of them.
    """


V = TypeVar("V", bound=View)


def read_leniently(view: type[V], raw: object, path: str) -> tuple[V, list[str]]:
    """The view with each field that can be read, and what is wrong with the others. A field that
    cannot be read has its default."""
    problems: list[str] = []
    values: dict[str, object] = {}
    if raw is not None and not isinstance(raw, dict):
        return view(), [f"{path}: it is not an object"]
    for field in msgspec.structs.fields(view):
        if not isinstance(raw, dict) or raw.get(field.encode_name) is None:
            continue
        try:
            values[field.name] = msgspec.convert(raw[field.encode_name], field.type)
        except msgspec.ValidationError as error:
            problems.append(f"{path}.{field.encode_name}: {error}")
    return view(**values), problems
