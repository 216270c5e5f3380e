"""How far the batches of an AffinityScheduling coordination are, counted from pods."""

from collections.abc import Iterable, Mapping, Sequence

from intact.model.amounts import parse_count
from intact.model.pod import Pod
from intact.model.pod_state import condition_of, is_gone, is_terminating
from intact.model.rbg import DEPLOYMENT, BatchProgress, Coordination, Role
from intact.rollout.batches import Mode, count, release
from intact.rollout.coordinations import SEQUENTIAL, batching, place_label
from intact.rollout.replicas import replicas


def batch_progress(
    coordination: Coordination,
    roles: Mapping[str, Role],
    wanted: Mapping[str, int],
    pods: Mapping[str, Sequence[Pod]],
    released: int,
) -> BatchProgress:
    """`wanted` are the replicas that the roles should have, `released` the batches that have been
    started."""
    rules = batching(coordination)
    label = place_label(coordination)
    total = count({name: wanted[name] for name in rules.ratios}, rules.ratios)
    ready = [
        number
        for number in range(total)
        if all(
            _ready_in(roles[name], pods[name], label, number) >= ratio
            for name, ratio in rules.ratios.items()
        )
    ]
    pending = sorted(
        {
            number
            for name in rules.ratios
            for pod in pods[name]
            if (number := batch_label(pod, label)) is not None and finds_no_node(pod)
        }
    )
    mode = Mode(rules.batch_mode or SEQUENTIAL)
    started = release(total, min(released, total), ready, mode)
    return BatchProgress(total=total, started=started, ready=len(ready), pending=pending)


def _ready_in(role: Role, pods: Sequence[Pod], label: str, number: int) -> int:
    return sum(
        one.ready for one in replicas(role, pods) if batch_label(one.pods[0], label) == number
    )


def batch_label(pod: Pod, label: str) -> int | None:
    """The number of the pod's batch; None if it has none."""
    return parse_count(pod.metadata.labels.get(label, ""))


def pods_in_batches(pods: Iterable[Pod], label: str) -> dict[int, int]:
    """By batch, how many pods stay."""
    found: dict[int, int] = {}
    for pod in pods:
        number = batch_label(pod, label)
        if number is not None and not is_gone(pod):
            found[number] = found.get(number, 0) + 1
    return found


def misplaced(
    coordination: Coordination, role: Role, pods: Sequence[Pod], started: int
) -> list[Pod]:
    """Pods of a Deployment that are one too many in their batch while another batch is short. That
    happens if a lowered Deployment deleted pods of other batches than the last, or if two servers
    gave away the same place. Other surplus pods are the Deployment's own to delete."""
    if role.kind != DEPLOYMENT:
        return []
    label, ratio = place_label(coordination), batching(coordination).ratios[role.name]
    have = pods_in_batches(pods, label)
    short = sum(max(0, ratio - have.get(number, 0)) for number in range(started))
    found: list[Pod] = []
    left = {number: 0 if number >= started else ratio for number in have}
    for pod in sorted(pods, key=lambda one: one.metadata.name):
        number = batch_label(pod, label)
        if number is None or is_gone(pod):
            continue
        if left[number]:
            left[number] -= 1
        elif len(found) < short and sum(have.values()) <= started * ratio:
            found.append(pod)
    return found


def finds_no_node(pod: Pod) -> bool:
    """Whether the scheduler has found no node for it."""
    return (
        not is_terminating(pod)
        and not pod.spec.node_name
        and (found := condition_of(pod, "PodScheduled")) is not None
        and found.status == "False"
    )
