"""The workloads of RoleBasedGroups, with what the operator adds to their templates.

A snapshot has no environment variables, also not those that the operator itself gives to the pods
of a role. Without them it would find every workload changed, and roll it out.
"""

import msgspec

from intact.kube.errors import PatchError
from intact.kube.resources import RBGS
from intact.model.rbg import LEADER_WORKER_SET, Role, RoleBasedGroup
from intact.operator.rbg.templates import leader_and_worker, pod_template
from intact.rollout.names import GROUP, ROLE, role_revision_label
from intact.rollout.revisions import role_hashes
from intact.sandbox.api.objects import Json, copied
from intact.sandbox.api.server import MemoryApi

_SETS = "leaderworkersets.leaderworkerset.x-k8s.io"
_KINDS = ("statefulsets.apps", "deployments.apps", "replicasets.apps", _SETS)


def complete(api: MemoryApi) -> None:
    served = {kind.full_name for kind in api.kinds()}
    if RBGS.full_name not in served:
        return
    of_roles: dict[tuple[str, str, str], list[tuple[str, Json]]] = {}
    for full_name in _KINDS:
        for each in api.objects(full_name) if full_name in served else ():
            labels = each["metadata"].get("labels") or {}
            key = (each["metadata"]["namespace"], labels.get(GROUP, ""), labels.get(ROLE, ""))
            of_roles.setdefault(key, []).append((full_name, each))
    for obj in list(api.objects(RBGS.full_name)):
        try:
            group = msgspec.convert(obj, RoleBasedGroup)
        except msgspec.ValidationError:
            continue  # the operator cannot read it either
        meta, hashes = group.metadata, role_hashes(group)
        for role in group.spec.roles:
            for full_name, each in of_roles.get((meta.namespace, meta.name, role.name), ()):
                revision = each["metadata"]["labels"].get(role_revision_label(role.name))
                if revision == hashes[role.name]:
                    made = _completed(copied(each), group, role, revision)
                    api.insert(full_name, made)


def _completed(workload: Json, group: RoleBasedGroup, role: Role, revision: str) -> Json:
    namespace, name = group.metadata.namespace, group.metadata.name
    spec = workload["spec"]
    try:
        if role.kind == LEADER_WORKER_SET:
            leader, worker = leader_and_worker(namespace, name, role, revision, {})
            template = spec["leaderWorkerTemplate"]
            if "leaderTemplate" in template:
                _take(template["leaderTemplate"], leader)
            _take(template["workerTemplate"], worker)
        else:
            _take(spec["template"], pod_template(namespace, name, role, revision, {}))
    except PatchError:
        pass  # the operator cannot apply it either
    return workload


def _take(template: Json, made: Json) -> None:
    """What only the operator's own template has."""
    spec, given = template["spec"], made["spec"]
    if given.get("volumes"):
        spec["volumes"] = given["volumes"]
    for part in ("containers", "initContainers"):
        known = {each["name"]: each for each in given.get(part) or ()}
        for container in spec.get(part) or ():
            for field in ("env", "volumeMounts"):
                found = known.get(container["name"], {}).get(field)
                if found:
                    container[field] = found
