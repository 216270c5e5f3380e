"""Exclusive topology, an annotation of the upstream API: all pods of a RoleBasedGroup in one domain
of a node label, and no pod of another RoleBasedGroup there.

The terms become part of the templates, and so of their revisions: a template that went back by a
rollback may have them already.
"""

from collections.abc import Iterator
from typing import Any

from intact.model.field_error import FieldError
from intact.model.labels import is_label_key
from intact.model.rbg import Json, RoleBasedGroup
from intact.rollout.coordinations import AFFINITY_SCHEDULING, batching, of_type
from intact.rollout.names import GROUP_KEY, group_key

EXCLUSIVE = "rolebasedgroup.workloads.x-k8s.io/exclusive-topology"
"""Annotation on a RoleBasedGroup or on the template of a role: the key of a node label."""
NOT_EXCLUSIVE = "rolebasedgroup.workloads.x-k8s.io/disable-exclusive-topology"
"""Annotation on the template of a role; `true` leaves the role out."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def exclusive_topology(group: RoleBasedGroup, template: Json) -> str:
    """The node label, or empty."""
    metadata = template.get("metadata")
    own = metadata.get("annotations") if isinstance(metadata, dict) else None
    own = own if isinstance(own, dict) else {}
    if own.get(NOT_EXCLUSIVE) == "true":
        return ""
    found = own.get(EXCLUSIVE) or group.metadata.annotations.get(EXCLUSIVE, "")
    return found if isinstance(found, str) and is_label_key(found) else ""


def with_exclusive_topology(group: RoleBasedGroup, template: Json) -> Json:
    """The template with the terms, if the annotation asks for them."""
    key = exclusive_topology(group, template)
    spec = template.get("spec")
    if not key or not isinstance(spec, dict):
        return template
    meta = group.metadata
    ours = [group_key(meta.namespace, meta.name)]
    together = {
        "labelSelector": {
            "matchExpressions": [{"key": GROUP_KEY, "operator": "In", "values": ours}]
        },
        "topologyKey": key,
    }
    apart = {
        "labelSelector": {
            "matchExpressions": [
                {"key": GROUP_KEY, "operator": "Exists"},
                {"key": GROUP_KEY, "operator": "NotIn", "values": ours},
            ]
        },
        "namespaceSelector": {},
        "topologyKey": key,
    }
    affinity = dict(spec.get("affinity") or {})
    affinity["podAffinity"] = _with_term(affinity.get("podAffinity"), together)
    affinity["podAntiAffinity"] = _with_term(affinity.get("podAntiAffinity"), apart)
    return template | {"spec": spec | {"affinity": affinity}}


def _with_term(terms: Any, term: Json) -> Json:
    found: Json = dict(terms or {})
    required = found.get(_REQUIRED) or []
    if term not in required:
        found[_REQUIRED] = [*required, term]
    return found


def exclusive_errors(group: RoleBasedGroup) -> Iterator[FieldError]:
    path = f"metadata.annotations[{EXCLUSIVE}]"
    key = group.metadata.annotations.get(EXCLUSIVE)
    if key is None:
        return
    if not is_label_key(key):
        message = "must be the key of a node label, such as kubernetes.io/hostname"
        yield FieldError(path, key, message)
    for each in of_type(group.spec, AFFINITY_SCHEDULING):
        if batching(each).topology_key == key:
            message = (
                f"keeps all pods in one domain, and the coordination {each.name} spreads its "
                "batches over the same domains: remove one of the two"
            )
            yield FieldError(path, key, message)
