"""How far the batches of an AffinityScheduling coordination are, counted from pods."""

from collections.abc import Mapping, Sequence

from intact.model.pod import Pod
from intact.model.rbg import BatchProgress, Coordination, Role
from intact.rollout.batches import Mode, count, release
from intact.rollout.coordinations import SEQUENTIAL, batching
from intact.rollout.counting import replicas
from intact.rollout.names import BATCH


def batch_progress(
    coordination: Coordination,
    roles: Mapping[str, Role],
    wanted: Mapping[str, int],
    pods: Mapping[str, Sequence[Pod]],
    before: BatchProgress | None,
) -> BatchProgress:
    """`wanted` are the replicas that the roles should have, `before` is what was stored last."""
    rules = batching(coordination)
    label = BATCH + coordination.name
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
            int(pod.metadata.labels[label])
            for name in rules.ratios
            for pod in pods[name]
            if label in pod.metadata.labels and finds_no_node(pod)
        }
    )
    mode = Mode(rules.batch_mode or SEQUENTIAL)
    started = release(total, min(before.started, total) if before else 0, ready, mode)
    return BatchProgress(total=total, started=started, ready=len(ready), pending=pending)


def _ready_in(role: Role, pods: Sequence[Pod], label: str, number: int) -> int:
    return sum(
        one.ready
        for one in replicas(role, pods)
        if one.pods[0].metadata.labels.get(label) == str(number)
    )


def finds_no_node(pod: Pod) -> bool:
    return (
        pod.metadata.deletion_timestamp is None
        and not pod.spec.node_name
        and any(
            one.type == "PodScheduled" and one.status == "False" for one in pod.status.conditions
        )
    )
