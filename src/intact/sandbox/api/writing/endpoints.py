"""The ways to write one object: itself, its status, its scale, its resources.

Each endpoint shows a part of the object, takes that part back and leaves the rest as it was.
"""

from typing import Any

from intact.sandbox.api.failures import (
    Failure,
    forbidden_value,
    invalid,
    invalid_object,
    invalid_value,
)
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, copied, lookup, put
from intact.sandbox.api.selectors import selector_text


class Endpoint:
    """The object itself."""

    kind: tuple[str, str, str] | None = None
    """Group, version and kind of what is shown, if not those of the object."""

    def show(self, kind: Kind, obj: Json) -> Json:
        del kind
        return obj

    def absorb(self, kind: Kind, current: Json, shown: Json) -> Json:
        """The whole object with what was sent to this endpoint in it."""
        del kind, current
        return shown

    def prepare(self, kind: Kind, new: Json, current: Json) -> Json:
        """Takes back what this endpoint may not change, and counts a changed specification."""
        if kind.status:
            new.pop("status", None)
            if "status" in current:
                new["status"] = current["status"]
        count_generation(kind, new, current)
        return new


def count_generation(kind: Kind, new: Json, current: Json) -> None:
    if not kind.generation:
        return
    outside = ("metadata", "status") if kind.status else ("metadata",)
    changed = _without(new, outside) != _without(current, outside)
    if kind.generation_covers_annotations:
        changed |= new["metadata"].get("annotations") != current["metadata"].get("annotations")
    new["metadata"]["generation"] = current["metadata"].get("generation", 0) + changed


def _without(obj: Json, fields: tuple[str, ...]) -> Json:
    return {key: value for key, value in obj.items() if key not in fields}


class StatusEndpoint(Endpoint):
    def prepare(self, kind: Kind, new: Json, current: Json) -> Json:
        result = copied(current)
        if "status" in new:
            result["status"] = {**kind.zero_status, **(new["status"] or {})}
        elif kind.custom:
            result.pop("status", None)
        else:
            result["status"] = dict(kind.zero_status)
        if kind.status_writes_metadata:
            kept = current["metadata"]
            result["metadata"] = {**new["metadata"], "generation": kept.get("generation", 0)}
        elif "managedFields" in new["metadata"]:
            result["metadata"]["managedFields"] = new["metadata"]["managedFields"]
        if kind.full_name == "pods":
            _keep_of_pod(result, current)
        return result


def _keep_of_pod(new: Json, current: Json) -> None:
    # kube-apiserver does not let old kubelets drop these.
    for container, name in (("metadata", "ownerReferences"), ("status", "qosClass")):
        kept = current.get(container, {}).get(name)
        if kept is not None and not (container == "status" and new[container].get(name)):
            new[container][name] = kept


class ResizeEndpoint(Endpoint):
    """In-place resize of a pod: the resources of its containers, nothing else."""

    def prepare(self, kind: Kind, new: Json, current: Json) -> Json:
        result = copied(current)
        sent, kept = new.get("spec", {}).get("containers", []), result["spec"]["containers"]
        if [each.get("name") for each in sent] != [each.get("name") for each in kept]:
            why = "containers may not be added, removed, renamed or reordered on resize"
            raise invalid_object(
                kind, current["metadata"]["name"], [forbidden_value("spec.containers", why)]
            )
        for ours, theirs in zip(kept, sent, strict=True):
            for name in ("resources", "resizePolicy"):
                if name in theirs:
                    ours[name] = theirs[name]
        if "managedFields" in new["metadata"]:
            result["metadata"]["managedFields"] = new["metadata"]["managedFields"]
        result["metadata"]["resourceVersion"] = new["metadata"].get("resourceVersion", "")
        count_generation(kind, result, current)
        return result


class ScaleEndpoint(Endpoint):
    kind = ("autoscaling", "v1", "Scale")

    def show(self, kind: Kind, obj: Json) -> Json:
        assert kind.scale is not None
        meta = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        status: Json = {"replicas": _count(lookup(obj, kind.scale.status_replicas))}
        selector = selector_text(lookup(obj, kind.scale.selector)) if kind.scale.selector else ""
        if selector:
            status["selector"] = selector
        replicas = _count(lookup(obj, kind.scale.spec_replicas))
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {name: meta[name] for name in kept if name in meta},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def absorb(self, kind: Kind, current: Json, shown: Json) -> Json:
        assert kind.scale is not None
        replicas = _count(lookup(shown, "spec.replicas"))
        if replicas < 0:
            raise _negative(kind, current["metadata"]["name"], replicas)
        result = copied(current)
        put(result, kind.scale.spec_replicas, replicas)
        sent = shown.get("metadata", {}).get("resourceVersion")
        if sent:
            result["metadata"]["resourceVersion"] = sent
        return result


def _negative(kind: Kind, name: str, replicas: int) -> Failure:
    if kind.custom and kind.scale is not None:
        path, why = f".{kind.scale.spec_replicas}", "should be a non-negative integer"
        return invalid_object(kind, name, [invalid_value(path, str(replicas), why)])
    why = "must be greater than or equal to 0"
    return invalid(
        "autoscaling", "Scale", name, [invalid_value("spec.replicas", str(replicas), why)]
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


_ENDPOINTS: dict[str, Endpoint] = {
    "": Endpoint(),
    "status": StatusEndpoint(),
    "scale": ScaleEndpoint(),
    "resize": ResizeEndpoint(),
}


def endpoint(subresource: str) -> Endpoint:
    return _ENDPOINTS[subresource]
