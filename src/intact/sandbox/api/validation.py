"""What the server checks on every object's metadata, whatever its kind."""

import re
from collections.abc import Sequence

from intact.sandbox.api.failures import (
    FieldError,
    bad_request,
    forbidden_value,
    invalid,
    invalid_value,
    required_value,
)
from intact.sandbox.api.kinds import Kind, NameRule
from intact.sandbox.api.objects import Json, encode, metadata

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_REASON = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
_SUBDOMAIN_REASON = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_RULES = {
    NameRule.LABEL: (re.compile(_LABEL), 63, _LABEL_REASON),
    NameRule.SUBDOMAIN: (re.compile(_SUBDOMAIN), 253, _SUBDOMAIN_REASON),
}
_QUALIFIED_NAME = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_VALUE_REASON = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUALIFIED_NAME_REASON = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def check_type(kind: Kind, version: str, obj: Json) -> None:
    """The object must be of the kind that its path says; what it leaves out is taken from there."""
    expected = kind.api_version(version)
    if kind.custom and not obj.get("kind"):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): "
            f"Object 'Kind' is missing in '{encode(obj).decode()}'"
        )
    given = obj.setdefault("apiVersion", "" if kind.custom else expected)
    if given != expected:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version "
            f"({expected})"
        )
    if obj.setdefault("kind", kind.kind) == kind.kind:
        return
    if kind.custom:
        error = invalid_value("kind", _quoted(obj["kind"]), f"must be {kind.kind}")
        raise invalid(kind.group, obj["kind"], metadata(obj).get("name", ""), [error])
    raise bad_request(
        f'{obj["kind"]} in version "{version}" cannot be handled as a {kind.kind}: '
        "the kinds do not match"
    )


def check_namespace(kind: Kind, namespace: str, obj: Json) -> None:
    meta = metadata(obj)
    if not kind.namespaced:
        meta.pop("namespace", None)
    elif meta.setdefault("namespace", namespace) != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(obj: Json, name: str) -> None:
    given = metadata(obj).get("name")
    if not given:
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def metadata_errors(kind: Kind, obj: Json) -> list[FieldError]:
    meta = obj["metadata"]
    name = meta.get("name")
    if not name:
        return [required_value("metadata.name", "name or generateName is required")]
    errors = []
    pattern, longest, reason = _RULES[kind.name_rule]
    if len(name) > longest:
        why = f"must be no more than {longest} characters"
        errors.append(invalid_value("metadata.name", _quoted(name), why))
    if not pattern.fullmatch(name):
        errors.append(invalid_value("metadata.name", _quoted(name), reason))
    for key, value in (meta.get("labels") or {}).items():
        if not _QUALIFIED_NAME.fullmatch(key):
            errors.append(invalid_value("metadata.labels", _quoted(key), _QUALIFIED_NAME_REASON))
        if len(value) > 63 or not _LABEL_VALUE.fullmatch(value):
            errors.append(invalid_value("metadata.labels", _quoted(value), _LABEL_VALUE_REASON))
    return errors + _finalizer_errors(kind, meta.get("finalizers") or ())


def _finalizer_errors(kind: Kind, finalizers: Sequence[str]) -> list[FieldError]:
    errors = [
        invalid_value("metadata.finalizers", _quoted(finalizer), _QUALIFIED_NAME_REASON)
        for finalizer in finalizers
        if not _QUALIFIED_NAME.fullmatch(finalizer)
    ]
    if kind.custom:
        return errors
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return errors + [
        invalid_value(f"metadata.finalizers[{index}]", _quoted(finalizer), why)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def update_errors(new: Json, old: Json) -> list[FieldError]:
    """What an update may not change."""
    new_meta, old_meta = new["metadata"], old["metadata"]
    errors = []
    if old_meta.get("deletionTimestamp"):
        kept = old_meta.get("finalizers") or ()
        added = sorted({name for name in new_meta.get("finalizers") or () if name not in kept})
        if added:
            listed = "[]string{" + ", ".join(_quoted(name) for name in added) + "}"
            why = (
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers {listed}"
            )
            errors.append(forbidden_value("metadata.finalizers", why))
    errors += [
        invalid_value(f"metadata.{name}", encode(new_meta[name]).decode(), "field is immutable")
        for name in ("name", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
        if name in new_meta and new_meta[name] != old_meta.get(name)
    ]
    return errors


def own_errors(kind: Kind, new: Json, old: Json | None = None) -> list[FieldError]:
    """What the kind itself finds wrong. An update may leave what was wrong before."""
    found = kind.errors(new) if kind.errors is not None else []
    if not found or old is None or kind.errors is None:
        return found
    before = kind.errors(old)
    return [error for error in found if error not in before]


def _quoted(text: str) -> str:
    return f'"{text}"'
