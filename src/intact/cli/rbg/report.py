"""RoleBasedGroups in one line each, and as documents for programs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from intact.cli.output import age_of
from intact.cli.rbg.standing import standing
from intact.cli.rbg.tree import progress_of, waits_for
from intact.cli.tables import table
from intact.model.rbg import RoleBasedGroup

Json = dict[str, Any]


def rows(
    groups: Sequence[tuple[RoleBasedGroup, Mapping[str, int]]],
    now: datetime,
    *,
    namespaces: bool = False,
    wide: bool = False,
) -> list[str]:
    """A table, as `kubectl get` has it, with the standing of each RoleBasedGroup."""
    heads = ["NAME", "STATUS", "READY", "UPDATED", "COORDINATION", "AGE"]
    if wide:
        heads += ["REVISION", "ROLES", "MESSAGE"]
    found = [[*(["NAMESPACE"] if namespaces else []), *heads]]
    for group, numbers in groups:
        meta, status = group.metadata, group.status
        cells = [
            meta.name,
            standing(group).title,
            status.ready or "-",
            status.updated or "-",
            status.coordinating or "-",
            age_of(meta.creation_timestamp, now),
        ]
        if wide:
            number = numbers.get(status.update_revision)
            roles = [
                f"{one.name} {one.ready_replicas}/{one.desired}" for one in status.role_statuses
            ]
            cells += [
                str(number) if number is not None else status.update_revision or "-",
                ", ".join(roles) or "-",
                _message(group) or "-",
            ]
        found.append([*([meta.namespace] if namespaces else []), *cells])
    return table(found)


def _message(group: RoleBasedGroup) -> str:
    """Why it is not done; empty if nothing says so."""
    for kind, value in (("Stalled", "True"), ("Ready", "False")):
        found = group.status.condition(kind)
        if found is not None and found.status == value:
            return found.message
    return ""


def as_document(group: RoleBasedGroup, numbers: Mapping[str, int]) -> Json:
    """Its fields stay as they are from version to version; docs/reference/cli.md lists them."""
    meta, status, spec = group.metadata, group.status, group.spec
    stands = standing(group)
    return {
        "namespace": meta.namespace,
        "name": meta.name,
        "standing": stands.title,
        "exitCode": int(stands),
        "created": meta.creation_timestamp,
        "generation": meta.generation,
        "observedGeneration": status.observed_generation,
        "paused": spec.paused,
        "ready": status.ready,
        "updated": status.updated,
        "coordination": status.coordinating,
        "currentRevision": _revision(status.current_revision, numbers),
        "updateRevision": _revision(status.update_revision, numbers),
        "roles": _roles(group),
        "conditions": [
            {
                "type": one.type,
                "status": one.status,
                "reason": one.reason,
                "message": one.message,
                "lastTransitionTime": one.last_transition_time,
            }
            for one in status.conditions
        ],
    }


def _revision(name: str, numbers: Mapping[str, int]) -> Json | None:
    return {"name": name, "number": numbers.get(name)} if name else None


def _roles(group: RoleBasedGroup) -> list[Json]:
    progress = progress_of(group)
    kinds = {role.name: role.workload.kind for role in group.spec.roles}
    found = []
    for one in group.status.role_statuses:
        its = progress.get(one.name)
        found.append(
            {
                "name": one.name,
                "workload": kinds.get(one.name, ""),
                "desired": one.desired,
                "replicas": one.replicas,
                "ready": one.ready_replicas,
                "updated": one.updated_replicas,
                "updatedReady": one.updated_ready_replicas,
                "revision": one.revision,
                "state": its.state if its else "",
                "partition": its.partition if its else 0,
                "waitingFor": waits_for(one, its),
                "since": its.since if its else None,
            }
        )
    return found
