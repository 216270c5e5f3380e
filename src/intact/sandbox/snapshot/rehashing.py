"""RoleBasedGroups name their templates by hashes of them, and their pods by a hash of their name.
LeaderWorkerSets name their groups by a hash of the leader's name.

A snapshot has templates without their secrets, or with other names, so their hashes are others, and
the operator in the sandbox would see a rollout where there is none. Everything that a hash names is
given the new one.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from intact.budget.pdb.group_sources import LEADER, LWS_WORKER_INDEX
from intact.model.rbg import Role, RoleBasedGroup
from intact.rollout.names import ROLE, group_key, role_revision_label
from intact.rollout.revisions import group_hash, hash_of, role_hashes, template_of
from intact.sandbox.snapshot.document import Json, Snapshot
from intact.sandbox.snapshot.reduction import DIGEST, role_pairs, set_digest

_OF_ROLES = (
    "statefulsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "controllerrevisions.apps",
    "leaderworkersets.leaderworkerset.x-k8s.io",
)
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{10}")


def hashed(snapshot: Snapshot) -> list[Json]:
    """What is named by hashes: RoleBasedGroups and their revisions, leaders of groups."""
    leaders = [
        each
        for each in snapshot.of("pods")
        if (each["metadata"].get("labels") or {}).get(LWS_WORKER_INDEX) == LEADER
    ]
    return [
        *snapshot.of("rolebasedgroups.workloads.x-k8s.io"),
        *snapshot.of("controllerrevisions.apps"),
        *leaders,
    ]


def rehashed(originals: Iterable[Json], snapshot: Snapshot) -> None:
    """Changes the snapshot's objects in place. `originals` are those of its `hashed`, as they were
    before the snapshot's own."""
    before, after = _hashes(originals), _hashes(hashed(snapshot))
    new = {
        old: after[place] for place, old in before.items() if place in after and after[place] != old
    }
    if new:
        for objects in snapshot.objects.values():
            objects[:] = [_replaced(each, new) for each in objects]


def give_role_digests(originals: Iterable[Json], snapshot: Snapshot) -> None:
    """The templates of a role's workloads get the digest of the role's template, from which the
    operator makes them. `originals` are as for `rehashed`, which comes after this."""
    reduced = {
        each["metadata"]["uid"]: each
        for full_name in ("rolebasedgroups.workloads.x-k8s.io", "controllerrevisions.apps")
        for each in snapshot.of(full_name)
    }
    digests: dict[str, str] = {}
    for each in originals:
        made = reduced.get(each["metadata"]["uid"])
        for given, kept in role_pairs(each, made) if made is not None else ():
            annotations = ((kept.get("template") or {}).get("metadata") or {}).get("annotations")
            if annotations and DIGEST in annotations:
                digests[_hash_of_role(each["kind"], given)] = annotations[DIGEST]
    for full_name in _OF_ROLES if digests else ():
        for each in snapshot.of(full_name):
            labels = each["metadata"].get("labels") or {}
            digest = digests.get(labels.get(role_revision_label(labels.get(ROLE, "")), ""))
            if digest is not None:
                set_digest(each.get("spec") or each.get("data"), digest)


def _hash_of_role(kind: str, role: Json) -> str:
    return hash_of(
        role if kind == "ControllerRevision" else template_of(msgspec.convert(role, Role))
    )


def hashes_in(objects: Iterable[Json]) -> set[str]:
    """The hashes that these RoleBasedGroups and ControllerRevisions are named by."""
    return set(_hashes(objects).values())


def _hashes(objects: Iterable[Json]) -> dict[tuple[str, str], str]:
    """By UID and what it names."""
    found: dict[tuple[str, str], str] = {}
    for each in objects:
        uid, kind = each["metadata"].get("uid", ""), each["kind"]
        if kind == "RoleBasedGroup":
            try:
                group = msgspec.convert(each, RoleBasedGroup)
            except msgspec.ValidationError:
                continue  # the operator cannot read it either
            roles = role_hashes(group)
            found |= {(uid, f"role {index}"): one for index, one in enumerate(roles.values())}
            found[uid, "group"] = group_hash(roles)
            found[uid, "key"] = group_key(group.metadata.namespace, group.metadata.name)
        elif kind == "Pod":
            meta = each["metadata"]
            found[uid, "leader"] = group_key(meta["namespace"], meta["name"])
        elif kind == "ControllerRevision" and isinstance(each.get("data"), dict):
            templates = each["data"].get("roles")
            if isinstance(templates, dict):
                hashes = {role: hash_of(template) for role, template in templates.items()}
                found |= {(uid, f"role {index}"): one for index, one in enumerate(hashes.values())}
                found[uid, "group"] = group_hash(hashes)
    return found


def _replaced(value: Any, new: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _HASH.sub(lambda match: new.get(match[0], match[0]), value)
    if isinstance(value, list):
        return [_replaced(each, new) for each in value]
    if isinstance(value, dict):
        return {key: _replaced(each, new) for key, each in value.items()}
    return value
