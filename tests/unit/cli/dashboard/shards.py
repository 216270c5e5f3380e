"""Moments for tests: shards of two pods on two nodes, under a budget."""

from collections.abc import Sequence
from typing import Any

import msgspec

from intact.cli.dashboard.moment import Moment
from intact.model.pod import DetailedPod
from intact.model.rbg import RoleBasedGroup
from intact.picture.objects import Objects
from tests.support.pictures import NOW, node, pod, pub


def shards(count: int = 3) -> list[DetailedPod]:
    """Of two pods each; the last shard has one that is not ready."""
    found = []
    for shard in range(count):
        for number in range(2):
            ready = not (shard == count - 1 and number == 1)
            where = f"node-{number}"
            found.append(pod(f"s{shard}-{number}", group=f"s{shard}", node=where, ready=ready))
    return found


def moment(pods: Sequence[DetailedPod] | None = None, **objects: Any) -> Moment:
    given = {
        "pods": shards() if pods is None else pods,
        "nodes": [node("node-0"), node("node-1")],
        "pubs": [pub()],
        "intact": True,
        "leading": True,
    }
    return Moment(Objects(**{**given, **objects}), NOW)


def rbg(ready: tuple[int, int] = (2, 1), *, skew: str | None = "25%") -> RoleBasedGroup:
    """Prefill has eight replicas and decode four, of which so many are updated and ready."""
    sizes = {"prefill": 8, "decode": 4}
    strategy = {"maxSkew": skew} if skew is not None else {}
    together = {"name": "together", "roles": list(sizes), "strategy": strategy}
    progress = {
        name: {
            "state": "Updating",
            "desired": desired,
            "updated": done + 1,
            "ready": done,
            "allowed": done + 1,
            "waitingFor": f"{name}-{done} to be ready",
        }
        for (name, desired), done in zip(sizes.items(), ready, strict=True)
    }
    statuses = [
        {
            "name": name,
            "desired": desired,
            "replicas": desired,
            "readyReplicas": desired - 1,
            "updatedReplicas": done + 1,
            "updatedReadyReplicas": done,
        }
        for (name, desired), done in zip(sizes.items(), ready, strict=True)
    ]
    body = {
        "metadata": {"name": "llm", "namespace": "llm", "uid": "uid-rbg", "generation": 2},
        "spec": {"roles": [{"name": name} for name in sizes], "coordination": [together]},
        "status": {
            "observedGeneration": 2,
            "roleStatuses": statuses,
            "coordinationState": [{"name": "together", "progress": progress}],
            "currentRevision": "llm-one",
            "updateRevision": "llm-two",
        },
    }
    return msgspec.convert(body, RoleBasedGroup)
