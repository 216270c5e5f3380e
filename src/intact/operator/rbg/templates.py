"""The pod template of a role: the user's, with what tells a pod its RoleBasedGroup and role.

A role may take its template from `roleTemplates` and patch it; `resolved` does that, before
anything else reads the template.

Sizes are never injected: scaling must not restart pods. The user's own environment variables come
last, so they may refer to the injected ones and override them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from intact.kube.errors import PatchError
from intact.kube.strategic import strategic_merge
from intact.model.field_error import FieldError
from intact.model.rbg import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    STATEFUL_SET,
    Role,
    RoleBasedGroup,
)
from intact.rollout.names import labels, role_revision_label
from intact.rollout.replicas import GROUP_INDEX, POD_INDEX
from intact.rollout.spec.exclusive import with_exclusive_topology

Json = dict[str, Any]

CONFIG_PATH = "/etc/rbg"
_CONFIG_VOLUME = "rbg-config"
_INDEX_LABEL = {
    STATEFUL_SET: POD_INDEX,
    LEADER_WORKER_SET: GROUP_INDEX,
}


def resolved(group: RoleBasedGroup) -> RoleBasedGroup:
    """With the template of each role in the role itself, as the RoleBasedGroup's annotations want
    it. A reference that leads nowhere, or a patch that does not fit, stays as it is: the
    RoleBasedGroup is invalid."""
    templates = {each.name: each.template for each in group.spec.role_templates}
    roles = [_exclusive(group, _resolved(role, templates)) for role in group.spec.roles]
    if all(one is other for one, other in zip(roles, group.spec.roles, strict=True)):
        return group
    return msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, roles=roles))


def _resolved(role: Role, templates: Mapping[str, Json]) -> Role:
    if role.template_ref is None:
        return role
    template = _merged(templates.get(role.template_ref.name), role.template_patch)
    if template is None:
        return role
    return msgspec.structs.replace(role, template=template, template_ref=None, template_patch=None)


def _exclusive(group: RoleBasedGroup, role: Role) -> Role:
    template = with_exclusive_topology(group, role.template)
    return role if template == role.template else msgspec.structs.replace(role, template=template)


def _merged(template: Json | None, patch: Json | None) -> Json | None:
    try:
        return None if template is None else strategic_merge(template, patch or {})
    except (PatchError, AttributeError, TypeError):  # it has another shape than a template
        return None


def inlined(group: Json) -> Json:
    """The same for a RoleBasedGroup as JSON, which then needs no `roleTemplates` any more."""
    spec = group.get("spec") or {}
    if not spec.get("roleTemplates"):
        return group
    templates = {each["name"]: each.get("template") for each in spec["roleTemplates"]}
    roles = []
    for role in spec.get("roles") or ():
        ref = (role.get("templateRef") or {}).get("name")
        template = _merged(templates.get(ref), role.get("templatePatch"))
        rest = {key: each for key, each in role.items() if not key.startswith("template")}
        roles.append(role if template is None else rest | {"template": template})
    rest = {key: each for key, each in spec.items() if key != "roleTemplates"}
    return group | {"spec": rest | {"roles": roles}}


def patch_errors(group: RoleBasedGroup) -> Iterator[FieldError]:
    """Patches that do not fit the template that their role refers to."""
    names = {each.name for each in group.spec.role_templates}
    for index, role in enumerate(resolved(group).spec.roles):
        if role.template_ref is not None and role.template_ref.name in names:
            path = f"spec.roles[{index}].templatePatch"
            message = "does not fit the template: an item of a list lacks the key of its list"
            yield FieldError(path, None, message)


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
