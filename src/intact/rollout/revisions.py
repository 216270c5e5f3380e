"""Revisions: the templates that a RoleBasedGroup has had.

A revision is named by the hash of its templates and of nothing else. So scaling or another rule
makes no revision, and going back to earlier templates is going back to their revision.
"""

import hashlib
import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from intact.model.rbg import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    NO_RESTART,
    STATEFUL_SET,
    Json,
    LeaderWorkerSetTemplate,
    Role,
    RoleBasedGroup,
    WorkloadKind,
)
from intact.model.role_workload import ControllerRevision
from intact.rollout.names import REVISION

_VERSIONS = {kind: version for version, kind in (STATEFUL_SET, DEPLOYMENT, LEADER_WORKER_SET)}
HISTORY = 10
"""Revisions that are kept."""
_LENGTH = 10


def template_of(role: Role) -> Json:
    """What a revision keeps of a role: what its pods are, not their number or update strategy."""
    sets = role.leader_worker_set
    found: Json = {"template": role.template, "workload": role.workload.kind}
    if role.kind == LEADER_WORKER_SET and role.restart_policy == NO_RESTART:
        found["restartPolicy"] = NO_RESTART
    if sets is not None:
        found["size"] = sets.size or 1
        found["leader"] = sets.patch_leader_template or {}
        found["worker"] = sets.patch_worker_template or {}
    return found


def role_with(role: Role, template: Json) -> Role:
    """The role with what a revision has kept of it."""
    kind = template["workload"]
    sets = None
    if "size" in template:
        sets = LeaderWorkerSetTemplate(
            size=template["size"],
            patch_leader_template=template["leader"],
            patch_worker_template=template["worker"],
        )
    return msgspec.structs.replace(
        role,
        template=template["template"],
        workload=WorkloadKind(api_version=_VERSIONS[kind], kind=kind),
        leader_worker_set=sets,
        restart_policy=template.get("restartPolicy", ""),
    )


def hash_of(template: Any) -> str:
    """Of any JSON value; the order of keys does not matter."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def group_hash(roles: Mapping[str, str]) -> str:
    """Of a RoleBasedGroup, from the hashes of its roles."""
    return hash_of(dict(roles))


def role_hashes(group: RoleBasedGroup) -> dict[str, str]:
    return {role.name: hash_of(template_of(role)) for role in group.spec.roles}


@dataclass(frozen=True, slots=True)
class Revision:
    name: str
    hash: str
    number: int
    """Counts uses: the present revision has the highest."""


def revision_of(stored: ControllerRevision) -> Revision:
    meta = stored.metadata
    return Revision(meta.name, meta.labels.get(REVISION, ""), stored.revision)


def templates(history: Sequence[ControllerRevision], role: str) -> dict[str, Json]:
    """The templates that a role has had, by their hash."""
    found = [one.data.get("roles", {}).get(role) for one in history]
    return {hash_of(template): template for template in found if template is not None}


def ages(history: Sequence[ControllerRevision], role: str) -> dict[str, int]:
    """The hashes of a role's templates, ranked by their first use: higher is newer."""
    ordered = sorted(history, key=lambda one: (one.metadata.creation_timestamp, one.revision))
    found: dict[str, int] = {}
    for number, one in enumerate(ordered):
        template = one.data.get("roles", {}).get(role)
        if template is not None:
            found.setdefault(hash_of(template), number)
    return found


def completed(history: Sequence[ControllerRevision], name: str) -> dict[str, str]:
    """By role, the hash of its template in the revision of this name."""
    for one in history:
        if one.metadata.name == name:
            return {role: hash_of(found) for role, found in one.data.get("roles", {}).items()}
    return {}


def next_number(revisions: Iterable[Revision], present: str) -> int:
    """The number of the revision with this hash, once it is created or used again."""
    others = [one.number for one in revisions if one.hash != present]
    own = [one.number for one in revisions if one.hash == present]
    highest = max(others, default=0)
    return own[0] if own and own[0] > highest else highest + 1


def outlived(revisions: Iterable[Revision], in_use: Collection[str]) -> list[Revision]:
    """The revisions to delete, oldest first: those over `HISTORY`, except those in use."""
    ordered = sorted(revisions, key=lambda one: one.number)
    spare = [one for one in ordered if one.hash not in in_use]
    return spare[: max(0, len(ordered) - HISTORY)]


def previous(revisions: Iterable[Revision], present: str, number: int | None = None) -> Revision:
    """The revision that an undo restores: the last one before the present, or the one with this
    number. Raises LookupError with a message for the user."""
    ordered = sorted(revisions, key=lambda one: one.number)
    if number is not None:
        for one in ordered:
            if one.number == number:
                return one
        known = ", ".join(str(one.number) for one in ordered) or "none"
        raise LookupError(f"there is no revision {number}; known revisions: {known}")
    others = [one for one in ordered if one.hash != present]
    if not others:
        raise LookupError("there is no earlier revision")
    return others[-1]


def restored(
    spec: dict[str, Any], data: dict[str, Any], same: Container[str] = ()
) -> dict[str, Any]:
    """The spec of a RoleBasedGroup with the templates of a revision. Roles that the revision does
    not have keep their template, and everything that is not part of a template stays. The kind of
    the workload is part of the template. `same` are roles that have their earlier template: they
    keep their reference to one, if they have it by reference."""
    earlier = {name: found for name, found in data["roles"].items() if name not in same}
    return spec | {"roles": [_restored(role, earlier) for role in spec["roles"]]}


def _restored(role: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    earlier = data.get(role["name"])
    if earlier is None:
        return role
    found = role | {"template": earlier["template"]}
    found.pop("templateRef", None)
    found.pop("templatePatch", None)
    if found.get("restartPolicy") == NO_RESTART:
        del found["restartPolicy"]
    if "restartPolicy" in earlier:
        found["restartPolicy"] = earlier["restartPolicy"]
    if earlier["workload"] != role.get("workload", {}).get("kind", STATEFUL_SET[1]):
        kind = earlier["workload"]
        found["workload"] = {"apiVersion": _VERSIONS[kind], "kind": kind}
    found.pop("leaderWorkerSet", None)
    if "size" in earlier:
        found["leaderWorkerSet"] = {
            "size": earlier["size"],
            "patchLeaderTemplate": earlier["leader"],
            "patchWorkerTemplate": earlier["worker"],
        }
    return found
