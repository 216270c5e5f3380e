"""The bodies of requests: objects to create or put, and the kinds of patches."""

from collections.abc import Callable
from typing import Any

import msgspec

from intact.kube.errors import PatchError
from intact.kube.strategic import strategic_merge
from intact.sandbox.api.failures import (
    Failure,
    bad_request,
    forbidden_value,
    invalid,
    invalid_options,
    invalid_value,
    required_value,
    unexpected,
    unprocessable,
    unsupported_media,
    wrong_media,
)
from intact.sandbox.api.objects import Json, decode, drop, encode, lookup, metadata, without_nulls
from intact.sandbox.api.routing import Call
from intact.sandbox.api.state import State
from intact.sandbox.api.validation import check_name, check_namespace, check_type
from intact.sandbox.api.writing.apply import apply
from intact.sandbox.api.writing.patches import json_patch, merge_patch
from intact.sandbox.api.writing.writes import Transform, owner_of, shapes_of

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_OBJECT_TYPES = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
)


def decode_body(call: Call) -> Any:
    if not call.request.body:
        raise unsupported_media(_OBJECT_TYPES)
    try:
        return decode(call.request.body)
    except msgspec.DecodeError as error:
        what = call.route.kind.kind
        raise bad_request(
            f"the object provided is unrecognized (must be of type {what}): {error}"
        ) from error


def decode_object(call: Call) -> Json:
    """An object that fits the path it was sent to."""
    obj = decode_body(call)
    if not isinstance(obj, dict):
        raise bad_request("the object provided is not an object")
    where = call.route
    if where.subresource != "scale":
        check_type(where.kind, where.version, obj)
    if not where.kind.custom and b"null" in call.request.body:
        obj = without_nulls(obj)
    check_namespace(where.kind, where.namespace, obj)
    if why := _unknown_fields(call, obj):
        kind = where.kind.kind
        raise bad_request(
            f'{kind} in version "{where.version}" cannot be handled as a {kind}: {why}'
        )
    return dict(obj)


def _unknown_fields(call: Call, obj: Json) -> str:
    """Drops fields that the server does not know. What is wrong, if the request is to fail."""
    paths = [path for path in call.route.kind.unknown if lookup(obj, path) is not None]
    found = [f'unknown field "{path}"' for path in paths]
    mode = call.query.get("fieldValidation") or "Warn"
    if found and mode == "Strict":
        return f"strict decoding error: {', '.join(found)}"
    if mode == "Warn":
        call.warnings.extend(text for text in found if text not in call.warnings)
    for path in paths:
        drop(obj, path)
    return ""


def replacement(call: Call) -> tuple[Transform, str]:
    """What a PUT does, and the uid that it insists on."""
    obj = decode_object(call)
    check_name(obj, call.route.name)

    def replaced(_current: Json | None) -> Json:
        # Each attempt gets its own copy to change.
        return decode_object(call)

    return replaced, metadata(obj).get("uid") or ""


def patch(state: State, call: Call) -> Transform:
    """What a PATCH does."""
    where = call.route
    kind = call.request.content_type.partition(";")[0].strip()
    accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
    if not where.kind.strategic:
        accepted.remove(STRATEGIC_PATCH)
    if kind not in accepted:
        raise unsupported_media(tuple(accepted)) if kind == STRATEGIC_PATCH else wrong_media()
    _check_patch_options(call, kind)
    if kind == APPLY_PATCH:
        return _applying(state, call)
    patched = _PATCHES[kind]

    def transform(current: Json | None) -> Json:
        assert current is not None
        result = patched(current, _decode_patch(call))
        if not isinstance(result, dict):
            raise unprocessable()
        if where.subresource != "scale":
            _check_patched_type(call, result)
        check_namespace(where.kind, where.namespace, result)
        check_name(result, where.name)
        if why := _unknown_fields(call, result):
            value = encode(encode(result).decode()).decode()
            raise invalid("", "", "", [invalid_value("patch", value, why)])
        if not where.kind.custom and b"null" in call.request.body:
            return dict(without_nulls(result))
        return result

    return transform


def _check_patched_type(call: Call, patched: Json) -> None:
    """A patch may not make an object into one of another kind."""
    where = call.route
    patched.setdefault("kind", where.kind.kind)
    patched["apiVersion"] = patched.get("apiVersion") or where.api_version
    if (patched["kind"], patched["apiVersion"]) != (where.kind.kind, where.api_version):
        value = encode(encode(patched).decode()).decode()
        why = f'no kind "{patched["kind"]}" is registered for version "{patched["apiVersion"]}"'
        raise invalid("", "", "", [invalid_value("patch", value, why)])


def _decode_patch(call: Call) -> Any:
    try:
        return decode(call.request.body)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from error


def _check_patch_options(call: Call, kind: str) -> None:
    if kind == APPLY_PATCH:
        if not call.query.get("fieldManager"):
            error = required_value("fieldManager", "is required for apply patch")
            raise invalid_options("PatchOptions", [error])
    elif "force" in call.query:
        error = forbidden_value("force", "may not be specified for non-apply patch")
        raise invalid_options("PatchOptions", [error])


def _json_patched(current: Json, operations: Any) -> Any:
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: a JSON patch is a list of operations")
    try:
        return json_patch(current, operations)
    except PatchError as error:
        raise unprocessable() from error


def _merge_patched(current: Json, sent: Any) -> Any:
    if not isinstance(sent, dict):
        raise bad_request("error decoding patch: a merge patch is an object")
    return merge_patch(current, sent)


def _strategic_patched(current: Json, sent: Any) -> Any:
    if not isinstance(sent, dict):
        raise bad_request("error decoding patch: a strategic merge patch is an object")
    try:
        return strategic_merge(current, sent)
    except PatchError as error:
        raise unexpected(str(error)) from error


_PATCHES: dict[str, Callable[[Json, Any], Any]] = {
    JSON_PATCH: _json_patched,
    MERGE_PATCH: _merge_patched,
    STRATEGIC_PATCH: _strategic_patched,
}


def _check_applied_type(call: Call, sent: Json) -> None:
    where = call.route
    version, kind = sent.get("apiVersion", ""), sent.get("kind", "")
    if (version, kind) != (where.api_version, where.kind.kind):
        qualified = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {qualified}, Kind={kind}")


def _untyped(call: Call, sent: Json, path: str) -> Failure:
    where, meta = call.route, metadata(sent)
    named = f"{meta.get('namespace', '')}/{where.name}; {where.api_version}, Kind={where.kind.kind}"
    return unexpected(
        f"failed to create typed patch object ({named}): .{path}: field not declared in schema"
    )


def _applying(state: State, call: Call) -> Transform:
    where = call.route

    def transform(current: Json | None) -> Json:
        sent = _decode_patch(call)
        if not isinstance(sent, dict):
            raise bad_request("error decoding YAML: not an object")
        _check_applied_type(call, sent)
        for path in where.kind.unknown:
            if lookup(sent, path) is not None:
                raise _untyped(call, sent, path)
        check_namespace(where.kind, where.namespace, sent)
        result = apply(
            current,
            sent,
            owner_of(call, "Apply"),
            state.now(),
            shapes_of(where.kind),
            force=call.query.get("force") in ("true", "1"),
            status=where.kind.status,
        )
        check_name(result, where.name)
        return result

    return transform
