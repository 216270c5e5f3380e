"""Which replicas of a role are not ready, and why, in words for people.

Pods with the same cause are named together. A cause that needs attention comes before one that is
part of every start.
"""

from collections.abc import Callable, Iterator

from intact.model.listing import listed
from intact.model.pod import Pod
from intact.model.pod_state import is_gone, is_ready
from intact.model.rbg import DEPLOYMENT, STATEFUL_SET
from intact.rollout.facts import RoleFacts
from intact.rollout.not_ready import LONGEST, Cause, why_not_ready
from intact.rollout.replicas import ordinal_of

_CAUSES = 3
_NAMES = 3


def unready(facts: RoleFacts, counts: Callable[[Pod], bool] = is_ready) -> str:
    """Empty if there is nothing to say. `counts` says which pods are ready."""
    pods: dict[Cause, list[str]] = {}
    for name, cause in (*_of_pods(facts, counts), *_of_missing(facts)):
        pods.setdefault(cause, []).append(name)
    ordered = sorted(pods.items(), key=lambda one: one[0].passing)
    texts = [f"{listed(names, _NAMES)}: {cause.text}" for cause, names in ordered]
    return listed([*_of_workloads(facts), *texts], _CAUSES, "; ")


def _of_pods(facts: RoleFacts, counts: Callable[[Pod], bool]) -> Iterator[tuple[str, Cause]]:
    for pod in sorted(facts.pods, key=_by_number):
        name = pod.metadata.name
        if is_gone(pod):
            # A ReplicaSet replaces it at once; the others need its name first.
            if facts.role.kind != DEPLOYMENT and _is_wanted(facts, pod):
                yield name, why_not_ready(pod)
        elif not is_ready(pod):
            yield name, why_not_ready(pod)
        elif not counts(pod):
            wait = facts.role.min_ready_seconds
            yield name, Cause(f"ready, but not for {wait} s (minReadySeconds) yet", passing=True)


def _is_wanted(facts: RoleFacts, pod: Pod) -> bool:
    """Whether another pod should come in its place."""
    ordinal = ordinal_of(pod.metadata.labels, pod.metadata.name)
    return facts.role.kind != STATEFUL_SET or ordinal is None or ordinal < facts.desired


def _of_missing(facts: RoleFacts) -> Iterator[tuple[str, Cause]]:
    if not facts.workloads:
        return
    cause = Cause("not created yet", passing=True)
    if facts.role.kind == STATEFUL_SET:
        there = {ordinal_of(pod.metadata.labels, pod.metadata.name) for pod in facts.pods}
        for ordinal in range(facts.desired):
            if ordinal not in there:
                yield f"{facts.workloads[0].name}-{ordinal}", cause
        return
    missing = facts.desired - len(facts.replicas())
    if missing > 0:
        yield f"{missing} of {facts.desired} replicas", cause


def _of_workloads(facts: RoleFacts) -> Iterator[str]:
    for one in facts.workloads:
        if one.failure:
            text = f"{facts.role.workload.kind} {one.name}: {one.failure}"
            yield text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _by_number(pod: Pod) -> tuple[int, str]:
    name = pod.metadata.name
    return ordinal_of(pod.metadata.labels, name) or 0, name
