"""The pods that the workloads in files would make: for a budget, they are its pods.

Every workload with a pod template counts, also of kinds that Intact does not know. Of a DaemonSet
there is one pod, which stands for a number that only a cluster knows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from intact.cli.check.would_be_groups import Template, pods_of_rbg, pods_of_set
from intact.model.meta import OwnerReference
from intact.model.pod import DetailedPod
from intact.model.rbg import RoleBasedGroup

Json = dict[str, Any]
MOST_PODS = 5000
"""Of one workload; of more, their number is not known."""
_SETS = "LeaderWorkerSet"
_GROUPS = "RoleBasedGroup"
_ONCE = ("Pod",)
_TEMPLATES = ("PodTemplate",)


@dataclass(slots=True)
class WouldBe:
    pods: list[DetailedPod] = field(default_factory=list)
    uncounted: set[str] = field(default_factory=set)
    """UIDs of pods that stand for an unknown number."""

    def add(self, manifest: Json, scaled: Mapping[tuple[str, str, str], int]) -> None:
        """`scaled` has what HorizontalPodAutoscalers keep at least, by namespace, kind and name."""
        for pod, counted in _pods_of(manifest, scaled):
            try:
                made = msgspec.convert(pod, DetailedPod)
            except msgspec.ValidationError:
                continue
            self.pods.append(made)
            if not counted:
                self.uncounted.add(made.metadata.uid)


def owner_of(manifest: Json) -> OwnerReference:
    meta = manifest["metadata"]
    return OwnerReference(
        api_version=str(manifest.get("apiVersion", "")),
        kind=manifest["kind"],
        name=meta["name"],
        uid=uid_of(manifest),
        controller=True,
    )


def uid_of(manifest: Json) -> str:
    meta = manifest["metadata"]
    return f"{manifest['kind']}/{meta.get('namespace', '')}/{meta['name']}"


def _pods_of(
    manifest: Json, scaled: Mapping[tuple[str, str, str], int]
) -> Iterator[tuple[Json, bool]]:
    kind, meta = manifest["kind"], manifest["metadata"]
    if kind in _TEMPLATES:
        return
    if kind in _ONCE:
        yield _pod(meta.get("namespace", ""), meta["name"], manifest), True
        return
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        return
    namespace, name = meta.get("namespace", ""), meta["name"]
    templates, counted = _templates(manifest, spec, scaled.get((namespace, kind, name)))
    owner = msgspec.to_builtins(owner_of(manifest))
    for one in templates:
        pod = _pod(namespace, f"{name}-{one.suffix}", one.template)
        pod["metadata"]["labels"] |= one.labels
        pod["metadata"]["annotations"] |= one.annotations
        pod["metadata"]["ownerReferences"] = [owner if one.owner is None else one.owner | owner]
        yield pod, counted


def _templates(manifest: Json, spec: Json, scaled: int | None) -> tuple[Iterator[Template], bool]:
    kind = manifest["kind"]
    if kind == _GROUPS:
        try:
            group = msgspec.convert(manifest, RoleBasedGroup)
        except msgspec.ValidationError:
            return iter(()), True
        return pods_of_rbg(group), True
    replicas = wanted(kind, spec) if scaled is None else scaled
    number = min(MOST_PODS, 1 if replicas is None else replicas)
    counted = replicas is not None and replicas <= MOST_PODS
    if kind == _SETS:
        return pods_of_set(manifest["metadata"]["name"], spec, number), counted
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        return iter(()), True
    return (Template(str(index), template) for index in range(number)), counted


def wanted(kind: str, spec: Json) -> int | None:
    """The pods, or groups, that a workload wants; None if only a cluster knows."""
    if kind == "DaemonSet":
        return None
    replicas = spec.get("parallelism" if kind == "Job" else "replicas")
    return replicas if isinstance(replicas, int) and replicas >= 0 else 1


def _pod(namespace: str, name: str, template: Json) -> Json:
    """A pod of this template, with only what decides on budgets."""
    meta, spec = _map(template.get("metadata")), _map(template.get("spec"))
    read = ("schedulingGroup", "workloadRef", "workload", "workloadReference")
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"Pod/{namespace}/{name}",
            "labels": _map(meta.get("labels")),
            "annotations": _map(meta.get("annotations")),
        },
        "spec": {key: spec[key] for key in read if key in spec},
    }


def _map(given: object) -> Json:
    """A copy of a map; an empty one in place of anything else."""
    return dict(given) if isinstance(given, dict) else {}
