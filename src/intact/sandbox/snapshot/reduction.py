"""What a snapshot keeps of an object: what decides where its pods run and which of them may go.

1. It names what is kept. What a later version of Kubernetes adds is left out until it is named.
2. No environment, arguments, commands or probes: only when a probe starts. No managedFields. Of the
   annotations only those that a controller of the sandbox reads.
3. Templates that differ only in what is left out must still differ: each gets a digest of all of
   it. The key of the digest is drawn for each snapshot and thrown away, so that it cannot be used
   to guess what was left out.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection
from typing import Any

from intact.operator.rbg.templates import inlined
from intact.sandbox.snapshot.document import Json

DIGEST = "intact.dev/template-digest"
_ANNOTATIONS = (
    "intact.dev/",
    "kruise.io/pub-",
    "pub.kruise.io/",
    "leaderworkerset.sigs.k8s.io/",
    "rolebasedgroup.workloads.x-k8s.io/",
    "workloads.x-k8s.io/",
    "coordination.workloads.x-k8s.io/",
    "deployment.kubernetes.io/",
    "kubernetes.io/config.mirror",
    "controller.kubernetes.io/pod-deletion-cost",
    "devcluster.intact.dev/",
)
"""How the annotations begin that a controller of the sandbox reads."""
_META = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "finalizers",
    "ownerReferences",
)
_POD_SPEC = (
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "schedulerName",
    "schedulingGates",
    "schedulingGroup",
    "workloadRef",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "restartPolicy",
    "readinessGates",
    "hostNetwork",
    "hostname",
    "subdomain",
    "overhead",
)
_CONTAINER = ("name", "image", "restartPolicy", "resizePolicy")
_PROBE = ("initialDelaySeconds", "periodSeconds", "successThreshold")
_CONTAINERS = ("containers", "initContainers")
_POD_STATUS = ("phase", "startTime", "qosClass", "observedGeneration", "nominatedNodeName")
_CONDITION = ("type", "status", "reason", "lastTransitionTime", "observedGeneration")
_CONTAINER_STATUS = (
    "name",
    "image",
    "imageID",
    "containerID",
    "ready",
    "started",
    "restartCount",
)
_LEFT_OUT = frozenset({"managedFields", "volumeClaimTemplates", "message", "waitingFor"})
_SECRETS = frozenset({"env", "envFrom", "args", "command", "secretRef", "imagePullSecrets"})
"""Left out at any depth of a kind that is kept as it is."""


class Reduction:
    """For the objects of one snapshot."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of_node(self, node: Json) -> Json:
        status = node.get("status") or {}
        return _object(node) | {
            "spec": _chosen(node.get("spec") or {}, ("unschedulable", "taints")),
            "status": _chosen(status, ("allocatable", "capacity"))
            | {"conditions": _conditions(status)},
        }

    def of_pod(self, pod: Json) -> Json:
        status = pod.get("status") or {}
        kept = _chosen(status, _POD_STATUS) | {"conditions": _conditions(status)}
        for name in ("containerStatuses", "initContainerStatuses"):
            if status.get(name):
                kept[name] = [_container_status(each) for each in status[name]]
        return _object(pod) | {"spec": _pod_spec(pod.get("spec") or {}), "status": kept}

    def of_other(self, obj: Json) -> Json:
        """A workload or a budget: whole, but for its pods' templates."""
        rest = {key: value for key, value in obj.items() if key != "metadata"}
        kept: Json = self._kept(rest)
        return _object(obj) | kept

    def of_roles(self, obj: Json) -> Json:
        """A RoleBasedGroup, or a revision of one. A role has one digest, in its template: the
        patches for leaders and workers go into it, and the workloads of the role have it too. A
        template that the role refers to becomes its own: its parts would hide nothing."""
        obj = inlined(obj)
        kept = self.of_other(obj)
        for given, made in role_pairs(obj, kept):
            patches = [made.get("leader"), made.get("worker")]
            patches += (made.get("leaderWorkerSet") or {}).values()
            for patch in patches:
                if isinstance(patch, dict):
                    set_digest(patch, None)
            if isinstance(made.get("template"), dict):
                set_digest(made["template"], self._digest(_of_role(given)))
        return kept

    def of_unknown(self, obj: Json) -> Json:
        """An owner of pods whose kind means nothing to the sandbox: who it is, and its scale."""
        scale = {
            part: _chosen(obj.get(part) or {}, ("replicas",))
            for part in ("spec", "status")
            if isinstance(obj.get(part), dict)
        }
        return _object(obj) | scale

    def of_namespace(self, namespace: Json) -> Json:
        return _object(namespace) | _chosen(namespace, ("spec", "status"))

    def of_priority_class(self, found: Json) -> Json:
        return _object(found) | _chosen(found, ("value", "preemptionPolicy"))

    def _kept(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._kept(each) for each in value]
        if not isinstance(value, dict):
            return value
        if _is_template(value):
            return self._template(value)
        found = {
            key: self._kept(each)
            for key, each in value.items()
            if key not in _LEFT_OUT and key not in _SECRETS
        }
        if isinstance(found.get("annotations"), dict):
            found["annotations"] = _annotations(found["annotations"])
        return found

    def _template(self, template: Json) -> Json:
        given = template.get("metadata") or {}
        annotations = _annotations(given.get("annotations") or {})
        annotations[DIGEST] = self._digest([template.get("spec"), given.get("annotations")])
        meta = _chosen(given, ("name", "labels")) | {"annotations": annotations}
        rest = {key: each for key, each in template.items() if key not in ("metadata", "spec")}
        return rest | {"metadata": meta, "spec": _pod_spec(template["spec"])}

    def _digest(self, value: Any) -> str:
        text = json.dumps(value, sort_keys=True).encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:16]


def role_pairs(one: Json, other: Json) -> list[tuple[Json, Json]]:
    """The roles of two versions of a RoleBasedGroup, or of a revision of one."""
    if one["kind"] == "ControllerRevision":
        mine, yours = ((each.get("data") or {}).get("roles") for each in (one, other))
        if not isinstance(mine, dict) or not isinstance(yours, dict):
            return []
        return [(mine[name], yours[name]) for name in mine if name in yours]
    mine, yours = ((each.get("spec") or {}).get("roles") or [] for each in (one, other))
    return list(zip(mine, yours, strict=False))


def _of_role(role: Json) -> list[Any]:
    """What the pods of a role are made of: alike for equal templates of two roles, and for a role
    and its revision."""
    sets = role.get("leaderWorkerSet") or {}
    leader = role.get("leader") or sets.get("patchLeaderTemplate") or {}
    worker = role.get("worker") or sets.get("patchWorkerTemplate") or {}
    return [role.get("template"), leader, worker]


def set_digest(value: Any, digest: str | None) -> None:
    """In this template, and in all templates below."""
    if isinstance(value, list):
        for each in value:
            set_digest(each, digest)
    if not isinstance(value, dict):
        return
    if not _is_template(value):
        for each in value.values():
            set_digest(each, digest)
        return
    annotations = value.setdefault("metadata", {}).setdefault("annotations", {})
    annotations.pop(DIGEST, None)
    if digest is not None:
        annotations[DIGEST] = digest


def _object(obj: Json) -> Json:
    given = obj["metadata"]
    meta = _chosen(given, _META)
    annotations = _annotations(given.get("annotations") or {})
    if annotations:
        meta["annotations"] = annotations
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": meta}


def _chosen(given: Json, names: Collection[str]) -> Json:
    return {name: given[name] for name in names if given.get(name) is not None}


def _annotations(given: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in given.items() if key.startswith(_ANNOTATIONS)}


def _conditions(status: Json) -> list[Json]:
    return [_chosen(each, _CONDITION) for each in status.get("conditions") or ()]


def _is_template(value: Json) -> bool:
    spec = value.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def _pod_spec(spec: Json) -> Json:
    found = _chosen(spec, _POD_SPEC)
    for name in _CONTAINERS:
        if spec.get(name):
            found[name] = [_container(each) for each in spec[name]]
    resources = spec.get("resources")
    if resources:
        found["resources"] = _chosen(resources, ("requests", "limits"))
    volumes = [_volume(each) for each in spec.get("volumes") or ()]
    if any(volumes):
        found["volumes"] = [each for each in volumes if each]
    return found


def _container(container: Json) -> Json:
    found = _chosen(container, _CONTAINER)
    resources = container.get("resources") or {}
    found["resources"] = _chosen(resources, ("requests", "limits"))
    ports = [_chosen(each, ("containerPort", "hostPort", "protocol", "hostIP"))
             for each in container.get("ports") or () if each.get("hostPort")]  # fmt: skip
    if ports:
        found["ports"] = ports
    probe = container.get("readinessProbe")
    if probe:
        found["readinessProbe"] = _chosen(probe, _PROBE)
    asleep = ((container.get("lifecycle") or {}).get("preStop") or {}).get("sleep")
    if asleep:
        found["lifecycle"] = {"preStop": {"sleep": _chosen(asleep, ("seconds",))}}
    return found


def _volume(volume: Json) -> Json | None:
    """Data that goes with the pod, which a drain asks about; claims bind a pod to places."""
    if "emptyDir" in volume:
        return {"name": volume["name"], "emptyDir": {}}
    claim = volume.get("persistentVolumeClaim")
    if claim:
        return {"name": volume["name"], "persistentVolumeClaim": _chosen(claim, ("claimName",))}
    return None


def _container_status(status: Json) -> Json:
    found = _chosen(status, _CONTAINER_STATUS)
    running = (status.get("state") or {}).get("running")
    if running:
        found["state"] = {"running": _chosen(running, ("startedAt",))}
    return found
