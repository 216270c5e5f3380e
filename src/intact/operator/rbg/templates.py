"""The pod template of a role: the user's, with what tells a pod its RoleBasedGroup and role.

Sizes are never injected: scaling must not restart pods. The user's own environment variables come
last, so they may refer to the injected ones and override them.
"""

from typing import Any

from intact.kube.strategic import strategic_merge
from intact.model.rbg import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET, Role
from intact.rollout.names import labels, role_revision_label
from intact.rollout.replicas import GROUP_INDEX, POD_INDEX

Json = dict[str, Any]

CONFIG_PATH = "/etc/rbg"
_CONFIG_VOLUME = "rbg-config"
_INDEX_LABEL = {
    STATEFUL_SET: POD_INDEX,
    LEADER_WORKER_SET: GROUP_INDEX,
}


def pod_template(
    namespace: str, group: str, role: Role, revision: str, more_labels: dict[str, str]
) -> Json:
    """For a StatefulSet or a Deployment."""
    return _injected(namespace, group, role, revision, more_labels, role.template)


def leader_and_worker(
    namespace: str, group: str, role: Role, revision: str, more_labels: dict[str, str]
) -> tuple[Json, Json]:
    """For a LeaderWorkerSet: the template with each of the two patches. Raises ValueError."""
    sets = role.leader_worker_set
    patches = (sets.patch_leader_template, sets.patch_worker_template) if sets else (None, None)
    leader, worker = (
        _injected(
            namespace,
            group,
            role,
            revision,
            more_labels,
            strategic_merge(role.template, patch or {}),
        )
        for patch in patches
    )
    return leader, worker


def _injected(
    namespace: str,
    group: str,
    role: Role,
    revision: str,
    more_labels: dict[str, str],
    template: Json,
) -> Json:
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        **labels(namespace, group, role.name),
        role_revision_label(role.name): revision,
        **more_labels,
    }
    spec = dict(template.get("spec") or {})
    config = role.kind != DEPLOYMENT
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_container(group, role, each, config=config) for each in spec[kind]]
    if config:
        volumes = [each for each in spec.get("volumes") or [] if each["name"] != _CONFIG_VOLUME]
        spec["volumes"] = [*volumes, {"name": _CONFIG_VOLUME, "configMap": {"name": group}}]
    return {"metadata": metadata, "spec": spec}


def _container(group: str, role: Role, container: Json, *, config: bool) -> Json:
    own = container.get("env") or []
    names = {each["name"] for each in own}
    injected = [each for each in _environment(group, role) if each["name"] not in names]
    found = {**container, "env": [*injected, *own]}
    if config:
        mounts = container.get("volumeMounts") or []
        if all(each.get("mountPath") != CONFIG_PATH for each in mounts):
            mount = {"name": _CONFIG_VOLUME, "mountPath": CONFIG_PATH, "readOnly": True}
            found["volumeMounts"] = [*mounts, mount]
    return found


def _environment(group: str, role: Role) -> list[Json]:
    """With the names of both of upstream's API versions."""
    found: list[Json] = []
    for prefix in ("", "RBG_"):
        found.append({"name": f"{prefix}GROUP_NAME", "value": group})
        found.append({"name": f"{prefix}ROLE_NAME", "value": role.name})
        if label := _INDEX_LABEL.get(role.kind):
            source = {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}
            found.append({"name": f"{prefix}ROLE_INDEX", "valueFrom": source})
    return found
