"""Strategic merge patches: lists merge by key, and directives say what a merge cannot.

kube-apiserver reads the keys from its Go types. The names in use here mean the same wherever they
stand, but for `ports`, which differ between containers and services.
"""

from typing import Any

from intact.kube.errors import PatchError

Json = dict[str, Any]

PATCH_KEYS: dict[str, str] = {
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "readinessGates": "conditionType",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "secrets": "name",
    "taints": "key",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "webhooks": "name",
}
"""By which field the items of a list are told apart."""

SETS = frozenset({"finalizers"})
"""Lists of scalars that merge as sets."""

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_VALUES = "$deleteFromPrimitiveList/"


def strategic_merge(target: Json, patch: Json) -> Json:
    """Neither argument is changed; the result shares parts with both."""
    match patch.get(_DIRECTIVE):
        case "replace":
            return {key: value for key, value in patch.items() if key != _DIRECTIVE}
        case "delete":
            return {}
        case None | "merge":
            return _merged(target, patch)
        case unknown:
            raise PatchError(f"unrecognized patch type {unknown!r}")


def _merged(target: Json, patch: Json) -> Json:
    result = dict(target)
    if _RETAIN in patch:
        retained = patch[_RETAIN]
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DELETE_VALUES):
            name = key.removeprefix(_DELETE_VALUES)
            result[name] = [item for item in result.get(name) or () if item not in value]
        elif key in (_DIRECTIVE, _RETAIN) or key.startswith(_ORDER):
            continue
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = _merged_value(key, result.get(key), value)
    for key, order in patch.items():
        if key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            if isinstance(result.get(name), list):
                result[name] = _in_order(name, result[name], order)
    return result


def _merged_value(name: str, target: Any, patch: Any) -> Any:
    if isinstance(patch, dict):
        return strategic_merge(target if isinstance(target, dict) else {}, patch)
    if isinstance(patch, list):
        return _merged_list(name, target if isinstance(target, list) else [], patch)
    return patch


def patch_key(name: str, items: list[object]) -> str | None:
    """The merge key of a list field in a strategic merge patch, if it has one."""
    if name == "ports":
        first = next((item for item in items if isinstance(item, dict)), {})
        return "containerPort" if "containerPort" in first else "port"
    return PATCH_KEYS.get(name)


def _merged_list(name: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if name in SETS:
        return list(dict.fromkeys((*target, *patch)))
    key = patch_key(name, [*target, *patch])
    if key is None or not all(isinstance(item, dict) for item in patch):
        return patch
    if any(item.get(_DIRECTIVE) == "replace" and key not in item for item in patch):
        return [item for item in patch if _DIRECTIVE not in item]
    result = list(target)
    for item in patch:
        if key not in item:
            raise PatchError(f"map: {item} does not contain declared merge key: {key}")
        _merge_item(result, key, item)
    return result


def _merge_item(items: list[Any], key: str, patch: Json) -> None:
    """Merges one item into the list, by its key."""
    found = next((i for i, item in enumerate(items) if item.get(key) == patch[key]), None)
    if patch.get(_DIRECTIVE) == "delete":
        if found is not None:
            del items[found]
        return
    merged = strategic_merge(items[found] if found is not None else {}, patch)
    if found is None:
        items.append(merged)
    else:
        items[found] = merged


def _in_order(name: str, items: list[Any], order: list[Any]) -> list[Any]:
    """The items that the patch names in its order, each of the others after its predecessor."""
    key = patch_key(name, items)

    def identity(item: Any) -> Any:
        return item.get(key) if key is not None and isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    named = {identity(item): item for item in items if identity(item) in wanted}
    sequence = iter([named[name] for name in wanted if name in named])
    return [next(sequence) if identity(item) in wanted else item for item in items]
