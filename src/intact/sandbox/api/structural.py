"""Structural schemas of CustomResourceDefinitions: what is dropped, defaulted and refused.

Rules in CEL (`x-kubernetes-validations`) and formats are not checked.
"""

import re
from collections.abc import Iterator
from typing import Any

from intact.sandbox.api.failures import (
    FieldError,
    invalid_value,
    required_value,
    too_long,
    too_many,
    unsupported_value,
)
from intact.sandbox.api.objects import Json, copied, encode

_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_ALWAYS = ("apiVersion", "kind", "metadata")


class Schema:
    """The schema of one version."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema

    def complete(self, obj: Json) -> None:
        """Drop fields that the schema does not know, and fill in its defaults."""
        kept = {name: obj[name] for name in _ALWAYS if name in obj}
        _prune(self._schema, obj, kept)
        _default(self._schema, obj)

    def errors(self, obj: Json) -> list[FieldError]:
        return sorted(_errors(self._schema, obj, ""), key=lambda error: error.field)


def _prune(schema: Json, value: Any, kept: Json | None = None) -> None:
    if isinstance(value, list):
        for item in value:
            _prune(schema.get("items") or {}, item)
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    if schema.get(_EMBEDDED):
        kept = {name: value[name] for name in _ALWAYS if name in value}
    for name in list(value):
        if kept is not None and name in kept:
            continue
        if name in properties:
            if value[name] is None and not properties[name].get("nullable"):
                del value[name]
            else:
                _prune(properties[name], value[name])
        elif isinstance(others, dict):
            _prune(others, value[name])
        elif not others and not schema.get(_PRESERVE):
            del value[name]


def _default(schema: Json, value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _default(schema.get("items") or {}, item)
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    for name, inner in properties.items():
        if "default" in inner and name not in value:
            value[name] = copied(inner["default"])
        if name in value:
            _default(inner, value[name])
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        for name in value:
            if name not in properties:
                _default(others, value[name])


def _errors(schema: Json, value: Any, path: str) -> Iterator[FieldError]:
    if value is None and schema.get("nullable"):
        return
    problem = _type_error(schema, value, path)
    if problem is not None:
        yield problem
    if "enum" in schema and value not in schema["enum"]:
        shown = tuple(each if isinstance(each, str) else _shown(each) for each in schema["enum"])
        yield unsupported_value(path, _shown(value), shown)
    if problem is not None:
        return
    if isinstance(value, str):
        yield from _string_errors(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_errors(schema, value, path)
    elif isinstance(value, list):
        yield from _list_errors(schema, value, path)
    elif isinstance(value, dict):
        yield from _object_errors(schema, value, path)


def _type_error(schema: Json, value: Any, path: str) -> FieldError | None:
    actual = _type_of(value)
    if schema.get(_INT_OR_STRING):
        wanted = "integer,string"
        fits = actual in ("integer", "string")
    else:
        wanted = schema.get("type", "")
        fits = not wanted or actual == wanted or (wanted, actual) == ("number", "integer")
    if fits:
        return None
    quoted = f'"{actual}"'
    return _typed(path, quoted, f"{path} in body must be of type {wanted}: {quoted}")


def _typed(path: str, value: str, why: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", path, f"Invalid value: {value}: {why}")


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _string_errors(schema: Json, value: str, path: str) -> Iterator[FieldError]:
    """Of the checks on a string, only the first that fails speaks."""
    shown = _shown(value)
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield too_long(path, schema["maxLength"])
    elif "minLength" in schema and len(value) < schema["minLength"]:
        why = f"{path} in body should be at least {schema['minLength']} chars long"
        yield invalid_value(path, shown, why)
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        yield invalid_value(path, shown, f"{path} in body should match '{schema['pattern']}'")


def _number_errors(schema: Json, value: float, path: str) -> Iterator[FieldError]:
    shown = _shown(value)
    if "minimum" in schema and value < schema["minimum"]:
        why = f"{path} in body should be greater than or equal to {_shown(schema['minimum'])}"
        yield invalid_value(path, shown, why)
    if "maximum" in schema and value > schema["maximum"]:
        why = f"{path} in body should be less than or equal to {_shown(schema['maximum'])}"
        yield invalid_value(path, shown, why)


def _list_errors(schema: Json, value: list[Any], path: str) -> Iterator[FieldError]:
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield too_many(path, len(value), schema["maxItems"])
    if "minItems" in schema and len(value) < schema["minItems"]:
        why = f"{path} in body should have at least {schema['minItems']} items"
        yield invalid_value(path, str(len(value)), why)
    for index, item in enumerate(value):
        yield from _errors(schema.get("items") or {}, item, f"{path}[{index}]")


def _object_errors(schema: Json, value: Json, path: str) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield too_many(path, len(value), schema["maxProperties"])
    for name in schema.get("required") or ():
        if name not in value:
            yield required_value(_joined(path, name), "")
    for name, item in value.items():
        if name in properties:
            yield from _errors(properties[name], item, _joined(path, name))
        elif isinstance(others, dict):
            yield from _errors(others, item, _joined(path, name))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    return encode(value).decode()
