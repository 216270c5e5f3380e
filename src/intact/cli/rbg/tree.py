"""A RoleBasedGroup as a tree: a branch for each role, and what it waits for."""

from collections.abc import Mapping

from intact.cli.rbg.standing import is_seen, standing
from intact.model.rbg import RoleBasedGroup, RoleProgress, RoleStatus
from intact.rollout.progress import urgency

_BAR = 20


def lines(group: RoleBasedGroup, numbers: Mapping[str, int]) -> list[str]:
    """`numbers` are those of revisions, by their name."""
    meta, status = group.metadata, group.status
    word = standing(group).words
    revision = f"revision {_revision(status.update_revision, numbers)}"
    if status.current_revision not in ("", status.update_revision):
        revision += f", from {_revision(status.current_revision, numbers)}"
    counts = f"ready {status.ready or '-'}, updated {status.updated or '-'}"
    found = [f"{meta.namespace}/{meta.name}: {word}, {counts}", revision]
    if not is_seen(group):
        found.append(
            f"the status is of generation {status.observed_generation}, the spec of "
            f"{meta.generation}: Intact has not seen the change yet"
        )
    kinds = {role.name: role.workload.kind for role in group.spec.roles}
    progress = progress_of(group)
    width = max((len(one.name) for one in status.role_statuses), default=0)
    for index, role in enumerate(status.role_statuses):
        last = index == len(status.role_statuses) - 1
        found += _role(role, kinds.get(role.name, ""), progress.get(role.name), width, last=last)
    found += [
        f"{one.type}: {one.message}"
        for one in status.conditions
        if one.message and (one.type, one.status) in (("Ready", "False"), ("Stalled", "True"))
    ]
    return found


def progress_of(group: RoleBasedGroup) -> dict[str, RoleProgress]:
    """By role. Of a role in two coordinations, that of the one that has not ended."""
    found: dict[str, RoleProgress] = {}
    for state in group.status.coordination_state:
        for name, one in state.progress.items():
            if name not in found or urgency(one) < urgency(found[name]):
                found[name] = one
    return found


def waits_for(role: RoleStatus, progress: RoleProgress | None) -> str:
    said = role.message or (progress.waiting_for if progress else "")
    return said.removeprefix("waits for ")


def _revision(name: str, numbers: Mapping[str, int]) -> str:
    return f"{numbers[name]} ({name})" if name in numbers else name or "-"


def _role(
    role: RoleStatus, kind: str, progress: RoleProgress | None, width: int, *, last: bool
) -> list[str]:
    branch, trunk = ("└─ ", "   ") if last else ("├─ ", "│  ")
    done = bar(role.updated_ready_replicas, role.updated_replicas, role.desired)
    text = f"{branch}{role.name:<{width}}  {done}  {role.updated_replicas}/{role.desired} updated"
    state = f"  {progress.state}" if progress else ""
    found = [f"{text}, {role.ready_replicas} ready{state}  ({kind}, {role.revision})"]
    if progress and progress.partition:
        one = progress.partition == 1
        stay = "1 stays as it is" if one else f"{progress.partition} stay as they are"
        found.append(f"{trunk}  {stay}")
    if waits := waits_for(role, progress):
        since = f" (since {progress.since})" if progress and progress.since else ""
        found.append(f"{trunk}  waits for: {waits}{since}")
    return found


def bar(ready: int, updated: int, desired: int) -> str:
    """Full for updated and ready replicas, half for updated ones that are not ready."""
    if desired <= 0:
        return "█" * _BAR
    done = min(_BAR, ready * _BAR // desired)
    begun = min(_BAR, updated * _BAR // desired) - done
    return "█" * done + "▒" * max(0, begun) + "░" * (_BAR - done - max(0, begun))
