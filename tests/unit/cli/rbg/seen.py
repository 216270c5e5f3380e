"""A RoleBasedGroup of one role, as its status shows it."""

from typing import Any

import msgspec

from intact.model.rbg import RoleBasedGroup
from tests.support.rbg_objects import group, role


def seen(
    *,
    name: str = "llm",
    ready: str = "True",
    stalled: str = "False",
    updated: int = 4,
    state: str = "",
    observed: int = 1,
    waiting: str = "",
    partition: int = 0,
) -> RoleBasedGroup:
    body: dict[str, Any] = group(name, role("prefill", 4))
    body["metadata"] |= {
        "namespace": "ns",
        "generation": 1,
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    progress = {
        "state": state,
        "waitingFor": waiting,
        "since": "2026-01-01T00:00:00Z",
        "partition": partition,
    }
    body["status"] = {
        "observedGeneration": observed,
        "ready": "4/4",
        "updated": f"{updated}/4",
        "coordinating": state,
        "updateRevision": "llm-b",
        "currentRevision": "llm-a",
        "conditions": [
            {"type": "Ready", "status": ready, "message": "prefill: 3 of 4 ready"},
            {"type": "Stalled", "status": stalled, "message": "no progress"},
        ],
        "roleStatuses": [
            {
                "name": "prefill",
                "desired": 4,
                "replicas": 4,
                "readyReplicas": 4,
                "updatedReplicas": updated,
                "updatedReadyReplicas": updated,
                "revision": "abc",
            }
        ],
        "coordinationState": (
            [{"name": "together", "progress": {"prefill": progress}}] if state else []
        ),
    }
    return msgspec.convert(body, RoleBasedGroup)
