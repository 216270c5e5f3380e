"""What a RoleBasedGroup is at rest: its pods, its workloads, its status, and no more writes."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from intact.model.rbg import Role, RoleBasedGroup, RoleStatus
from intact.rollout.coordinations import ROLLING_UPDATE, coordination_of, rolling_rules
from intact.rollout.names import GROUP as GROUP_LABEL
from intact.rollout.names import ROLE
from intact.rollout.ratios import parse, staying_old
from intact.rollout.revisions import hash_of, template_of
from tests.simulation.rbg.course import GROUP, NAMESPACE
from tests.simulation.rbg.kubelet import image_of, is_ready, is_terminating
from tests.simulation.rbg.truth import Truth
from tests.simulation.rbg.world import WORKLOADS, World, seconds
from tests.support.objects import Json

_QUIET = 25.0
"""Seconds without a write."""


def differences(world: World, truth: Truth) -> str:
    """What is not as it should be at rest; empty if all is."""
    group = msgspec.convert(world.group, RoleBasedGroup)
    found = [*_pods(world, truth, group), *_workloads(world, group), *_status(group)]
    if not found and seconds() - world.intact_wrote < _QUIET:
        found = [f"Intact still writes: {seconds() - world.intact_wrote:.1f} s ago"]
    return "; ".join(found)


def keeps(group: RoleBasedGroup, role: Role) -> int:
    """Pods of the role that stay old."""
    coordination = coordination_of(group.spec, role.name, ROLLING_UPDATE)
    partition = rolling_rules(coordination).partition if coordination is not None else None
    if partition is None:
        return 0
    return staying_old(parse(partition), role.replicas or 0)


def _may_keep_old(group: RoleBasedGroup, role: Role) -> bool:
    """Whether workloads of earlier revisions may stay."""
    coordinated = coordination_of(group.spec, role.name, ROLLING_UPDATE) is not None
    return coordinated and (group.spec.paused or keeps(group, role) > 0)


def _image(role: Role) -> str:
    image: str = role.template["spec"]["containers"][0]["image"]
    return image


def _pods(world: World, truth: Truth, group: RoleBasedGroup) -> Iterator[str]:
    by_role: dict[str, list[Json]] = {}
    for pod in world.api.objects("pods", NAMESPACE):
        workload = truth.workload_of(pod)
        by_role.setdefault(workload.role if workload is not None else "", []).append(pod)
    for role in group.spec.roles:
        pods = by_role.pop(role.name, [])
        if len(pods) != role.replicas:
            yield f"role {role.name} has {len(pods)} of {role.replicas} pods"
        broken = [one["metadata"]["name"] for one in pods if not is_ready(one)]
        if broken:
            yield f"not ready: {broken}"
        if coordination_of(group.spec, role.name, ROLLING_UPDATE) and group.spec.paused:
            continue
        images = Counter(map(image_of, pods))
        old = len(pods) - images[_image(role)]
        if old > keeps(group, role):
            yield f"{old} pods of {role.name} are not of {_image(role)}: {dict(images)}"
        if old and any(one["metadata"].get("finalizers") for one in pods):
            yield f"pods of {role.name} are held"
    for name, pods in by_role.items():
        yield f"{len(pods)} pods of role {name!r}, which is not there"


def _workloads(world: World, group: RoleBasedGroup) -> Iterator[str]:
    there: dict[tuple[str, str], list[Json]] = {}
    for kind, full_name in WORKLOADS.items():
        for one in world.api.objects(full_name, NAMESPACE):
            name = one["metadata"]["name"]
            role = name.removeprefix(f"{GROUP}-").partition("-")[0]
            there.setdefault((kind, role), []).append(one)
            labels = one["metadata"]["labels"]
            if labels.get(ROLE) != role or labels.get(GROUP_LABEL) != GROUP:
                yield f"{kind} {name} has the labels {labels}"
    for role in group.spec.roles:
        found = there.pop((role.workload.kind, role.name), [])
        if not found or (len(found) > 1 and not _may_keep_old(group, role)):
            yield f"role {role.name} has {len(found)} workloads of kind {role.workload.kind}"
        if any(map(is_terminating, found)):
            yield f"a workload of {role.name} is terminating"
    for kind, role_name in there:
        role_left = group.spec.role(role_name)
        if role_left is None or not _may_keep_old(group, role_left):
            yield f"there is a {kind} of role {role_name}"


def _status(group: RoleBasedGroup) -> Iterator[str]:
    status = group.status
    if status.observed_generation != group.metadata.generation:
        yield f"the status is of generation {status.observed_generation}"
        return
    statuses = {one.name: one for one in status.role_statuses}
    if list(statuses) != [one.name for one in group.spec.roles]:
        yield f"the status has the roles {list(statuses)}"
        return
    unfinished = any(one.updated_ready_replicas < one.desired for one in status.role_statuses)
    for role in group.spec.roles:
        yield from _role_status(group, role, statuses[role.name])
    ready = status.condition("Ready")
    if ready is None or ready.status != "True":
        yield f"Ready is {ready}"
    if not unfinished and status.current_revision != status.update_revision:
        yield f"the revision {status.update_revision} is not completed"
    wanted = ("Completed", "Paused") if unfinished else ("Completed",)
    for state in status.coordination_state:
        for name, progress in state.progress.items():
            if progress.state not in wanted:
                yield f"{name} is {progress.state}: {progress.waiting_for}"


def _role_status(group: RoleBasedGroup, role: Role, one: RoleStatus) -> Iterator[str]:
    counts = (one.desired, one.replicas, one.ready_replicas)
    if set(counts) != {role.replicas}:
        yield f"the status of {role.name} has desired, replicas, ready {counts}"
    if one.revision != hash_of(template_of(role)):
        yield f"the status of {role.name} has the revision {one.revision}"
    held = keeps(group, role)
    if coordination_of(group.spec, role.name, ROLLING_UPDATE) and group.spec.paused:
        held = one.desired
    if one.updated_replicas < one.desired - held:
        yield f"the status of {role.name} has {one.updated_replicas} updated"
