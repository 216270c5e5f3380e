"""Manifests of PodDisruptionBudgets with the fields of KEP-5682, as a stock API server takes them,
and back.

| KEP-5682 | on a stock server |
|---|---|
| `spec.budgetScope` | label `intact.dev/budget-scope` |
| the four counters of the status | annotation `intact.dev/replicas` |

A list is translated item by item. Every other object stays as it is.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from intact.budget.pdb.annotations import COUNTERS
from intact.budget.pdb.group_settings import REPLICAS
from intact.budget.pdb.ineffective import SETTINGS
from intact.budget.pdb.scope import GROUP_SCOPES, POD_SCOPE, SCOPE_LABEL
from intact.model.field_error import FieldError

Json = dict[str, Any]
Translate = Callable[[Json], Json]
_SCOPES = (*GROUP_SCOPES, POD_SCOPE)
_SERVED = "scheduling.k8s.io/v1alpha2"
_SCHEDULING = ("scheduling.k8s.io", "workload.k8s.io")


class NotTranslated(Exception):
    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def to_stock(obj: Json) -> Json:
    """Raises NotTranslated."""
    return _each(obj, _budget_to_stock, "")


def to_kep(obj: Json) -> Json:
    """Raises NotTranslated."""
    return _each(obj, _budget_to_kep, "")


def _each(obj: Json, translate: Translate, path: str) -> Json:
    try:
        if isinstance(items := obj.get("items"), list) and str(obj.get("kind")).endswith("List"):
            translated = [
                _each(item, translate, f"{path}items[{index}].") if isinstance(item, dict) else item
                for index, item in enumerate(items)
            ]
            return {**obj, "items": translated}
        return translate(obj) if _is_budget(obj) else obj
    except NotTranslated as problem:
        error = problem.error
        if error.path.startswith(path):
            raise
        raise NotTranslated(FieldError(path + error.path, error.value, error.message)) from None


def _is_budget(obj: Json) -> bool:
    group = str(obj.get("apiVersion")).partition("/")[0]
    return group == "policy" and obj.get("kind") == "PodDisruptionBudget"


def _budget_to_stock(budget: Json) -> Json:
    spec, status = _map(budget, "spec"), _map(budget, "status")
    result = budget
    scope = spec.get("budgetScope")
    if scope is not None:
        _check_scope("spec.budgetScope", scope)
        result = _with(result, ("metadata", "labels"), SCOPE_LABEL, scope, "spec.budgetScope")
    if "budgetScope" in spec:
        result = _without(result, ("spec",), "budgetScope")
    counters = {name: status[name] for name in COUNTERS if status.get(name) is not None}
    for name, number in counters.items():
        _check_counter(f"status.{name}", number)
    if counters:
        text = msgspec.json.encode(counters).decode()
        where = ("metadata", "annotations")
        result = _with(result, where, REPLICAS, text, "the counters of the status")
        for name in counters:
            result = _without(result, ("status",), name)
    return result


def _budget_to_kep(budget: Json) -> Json:
    labels = _map(budget, "metadata", "labels")
    annotations = _map(budget, "metadata", "annotations")
    result = budget
    if (scope := labels.get(SCOPE_LABEL)) is not None:
        path = f"metadata.labels[{SCOPE_LABEL}]"
        _check_scope(path, scope)
        result = _with(result, ("spec",), "budgetScope", scope, path)
        result = _without(result, ("metadata", "labels"), SCOPE_LABEL)
    if (text := annotations.get(REPLICAS)) is not None:
        path = f"metadata.annotations[{REPLICAS}]"
        for name, number in _counters(path, text).items():
            result = _with(result, ("status",), name, number, path)
        result = _without(result, ("metadata", "annotations"), REPLICAS)
    return result


def _counters(path: str, text: object) -> Json:
    try:
        found = msgspec.json.decode(str(text), type=dict[str, int])
    except msgspec.DecodeError:
        found = {}
    if not found or not set(found) <= set(COUNTERS):
        why = f"{text!r} is not a JSON object with the counters {', '.join(COUNTERS)}"
        raise NotTranslated(FieldError(path, str(text), why))
    return found


def _check_scope(path: str, scope: object) -> None:
    if scope not in _SCOPES:
        why = f"{scope!r} is not one of {', '.join(_SCOPES)}"
        raise NotTranslated(FieldError(path, str(scope), why))


def _check_counter(path: str, number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise NotTranslated(FieldError(path, str(number), f"{number!r} is not an integer"))


def _map(obj: Json, *path: str) -> Json:
    """The map at a path; empty if there is none."""
    found: Any = obj
    for depth, field in enumerate(path, 1):
        found = found.get(field)
        if found is None:
            return {}
        if not isinstance(found, dict):
            why = f"{found!r} is not a map"
            raise NotTranslated(FieldError(".".join(path[:depth]), str(found), why))
    return dict(found)


def _with(obj: Json, path: tuple[str, ...], key: str, value: object, source: str) -> Json:
    """With one more entry in a map, which is made if it is missing."""
    inner = _map(obj, *path)
    if (present := inner.get(key)) is not None and present != value:
        named = f"{'.'.join(path)}[{key}]" if "/" in key else ".".join((*path, key))
        why = f"{source} says {value!r}"
        raise NotTranslated(FieldError(named, str(present), why))
    inner |= {key: value}
    for depth in reversed(range(len(path))):
        inner = {**_map(obj, *path[:depth]), path[depth]: inner}
    return inner


def _without(obj: Json, path: tuple[str, ...], key: str) -> Json:
    """Without one entry of a map, and without the map if that was its only one."""
    if not path:
        return {name: value for name, value in obj.items() if name != key}
    inner = _without(obj[path[0]], path[1:], key)
    if not inner:
        return {name: value for name, value in obj.items() if name != path[0]}
    return {**obj, path[0]: inner}


def notes(obj: Json, to: str) -> Iterator[str]:
    """What a translation leaves as it is, and the server that it is for does not take as it is
    meant."""
    if isinstance(items := obj.get("items"), list) and str(obj.get("kind")).endswith("List"):
        for item in items:
            if isinstance(item, dict):
                yield from notes(item, to)
    elif to == "kep" and _is_budget(obj):
        meta = obj.get("metadata") or {}
        if SCOPE_LABEL in (meta.get("labels") or {}):
            for key in SETTINGS:
                if key in (meta.get("annotations") or {}):
                    yield f"the annotation {key} has no effect beside spec.budgetScope"
    elif to == "stock":
        yield from _not_served(obj)


def _not_served(obj: Json) -> Iterator[str]:
    version, kind = str(obj.get("apiVersion")), obj.get("kind")
    if kind in ("PodGroup", "Workload") and version.partition("/")[0] in _SCHEDULING:
        if version != _SERVED:
            yield f"{version} {kind}: Kubernetes 1.36 serves {kind}s of {_SERVED}, in another shape"
    elif _names_a_workload(obj):
        yield (
            "pods name their Workload as KEP-5682 does: Kubernetes 1.36 has "
            "spec.schedulingGroup.podGroupName instead"
        )


def _names_a_workload(value: Any) -> bool:
    """Whether any pod, or template of one, in it does so."""
    if isinstance(value, dict):
        if "containers" in value and ("workload" in value or "workloadReference" in value):
            return True
        return any(map(_names_a_workload, value.values()))
    return isinstance(value, list) and any(map(_names_a_workload, value))
