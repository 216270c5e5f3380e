"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386)."""

from typing import Any

from intact.kube.errors import PatchError
from intact.sandbox.api.objects import Json, decode, encode


def merge_patch(target: Any, patch: Any) -> Any:
    """Neither argument is changed; the result shares parts with both."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def json_patch(document: Any, operations: list[Json]) -> Any:
    """The patched document; the given one is changed on the way."""
    for operation in operations:
        document = _apply(document, operation)
    return document


def _apply(document: Any, operation: Json) -> Any:
    op, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise PatchError(f"the operation has no path: {operation}")
    if op in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"the operation has no value: {operation}")
    match op:
        case "add":
            return _add(document, path, operation["value"])
        case "remove":
            return _remove(document, path)[0]
        case "replace":
            return _replace(document, path, operation["value"])
        case "move":
            document, value = _remove(document, str(operation.get("from")))
            return _add(document, path, value)
        case "copy":
            value = _get(document, str(operation.get("from")))
            return _add(document, path, decode(encode(value)))
        case "test":
            if not _same(_get(document, path), operation["value"]):
                raise PatchError(f"testing value {path} failed")
            return document
        case _:
            raise PatchError(f"unknown operation {op!r}")


def _same(left: Any, right: Any) -> bool:
    # To Python, True is 1; to JSON it is not.
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _steps(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise PatchError(f"{path!r} is not a JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _index(container: list[Any], step: str, limit: int) -> int:
    if step == "-" and limit > len(container) - 1:
        return len(container)
    if not step.isdecimal() or (step != "0" and step.startswith("0")):
        raise PatchError(f"{step!r} is not an index")
    if int(step) > limit:
        raise PatchError(f"index {step} is out of range")
    return int(step)


def _child(container: Any, step: str) -> Any:
    if isinstance(container, list):
        return container[_index(container, step, len(container) - 1)]
    if isinstance(container, dict) and step in container:
        return container[step]
    raise PatchError(f"{step!r} does not exist")


def _get(document: Any, path: str) -> Any:
    for step in _steps(path):
        document = _child(document, step)
    return document


def _parent(document: Any, path: str) -> tuple[Any, str]:
    *parents, last = _steps(path)
    for step in parents:
        document = _child(document, step)
    return document, last


def _add(document: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    container, step = _parent(document, path)
    if isinstance(container, list):
        container.insert(_index(container, step, len(container)), value)
    elif isinstance(container, dict):
        container[step] = value
    else:
        raise PatchError(f"{path!r} is not in an object or array")
    return document


def _replace(document: Any, path: str, value: Any) -> Any:
    # Against the RFC, kube-apiserver takes the replacement of a missing member for an addition.
    container = _parent(document, path)[0] if path else None
    if not isinstance(container, dict):
        document = _remove(document, path)[0]
    return _add(document, path, value)


def _remove(document: Any, path: str) -> tuple[Any, Any]:
    """The document without the value, and the value."""
    if not path:
        return None, document
    container, step = _parent(document, path)
    value = _child(container, step)
    if isinstance(container, list):
        container.pop(_index(container, step, len(container) - 1))
    else:
        del container[step]
    return document, value
