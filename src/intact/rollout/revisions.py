"""Revisions: which templates a group has had.

A revision is named by the hash of its templates and of nothing else, so scaling and other rules
make none, and going back to earlier templates is going back to their revision.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from intact.rollout.validation import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET

_VERSIONS = {kind: version for version, kind in (STATEFUL_SET, DEPLOYMENT, LEADER_WORKER_SET)}
HISTORY = 10
"""Revisions that are kept."""
_LENGTH = 10


def hash_of(templates: Any) -> str:
    """Of anything that JSON can say; the order of keys does not matter."""
    text = json.dumps(templates, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def group_hash(roles: Mapping[str, str]) -> str:
    """Of a group, from the hashes of its roles."""
    return hash_of(dict(roles))


@dataclass(frozen=True, slots=True)
class Revision:
    name: str
    hash: str
    number: int
    """Of its last use: the present revision has the highest."""


def next_number(revisions: Iterable[Revision], present: str) -> int:
    """The number of the revision with this hash, if it is made or taken up again."""
    others = [one.number for one in revisions if one.hash != present]
    own = [one.number for one in revisions if one.hash == present]
    highest = max(others, default=0)
    return own[0] if own and own[0] > highest else highest + 1


def outlived(revisions: Iterable[Revision], in_use: Collection[str]) -> list[Revision]:
    """Those that go, oldest first: over `HISTORY`, without those whose hash is in use."""
    ordered = sorted(revisions, key=lambda one: one.number)
    spare = [one for one in ordered if one.hash not in in_use]
    return spare[: max(0, len(ordered) - HISTORY)]


def previous(revisions: Iterable[Revision], present: str, number: int | None = None) -> Revision:
    """The one that an undo goes to: the last before the present one, or the one with this number.
    Raises LookupError with what is wrong."""
    ordered = sorted(revisions, key=lambda one: one.number)
    if number is not None:
        for one in ordered:
            if one.number == number:
                return one
        known = ", ".join(str(one.number) for one in ordered) or "none"
        raise LookupError(f"there is no revision {number}; there are: {known}")
    others = [one for one in ordered if one.hash != present]
    if not others:
        raise LookupError("there is no earlier revision")
    return others[-1]


def restored(spec: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """The spec of a group with the templates of a revision. Roles that the revision does not have
    keep theirs, and so does all that is no template. The kind of workload is part of one."""
    return spec | {"roles": [_restored(role, data["roles"]) for role in spec["roles"]]}


def _restored(role: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    earlier = data.get(role["name"])
    if earlier is None:
        return role
    found = role | {"template": earlier["template"]}
    if earlier["workload"] != role.get("workload", {}).get("kind", "StatefulSet"):
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
