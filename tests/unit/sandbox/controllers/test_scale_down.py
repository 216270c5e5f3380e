"""The order in which pods of a ReplicaSet go."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from intact.model.times import timestamp
from intact.sandbox.controllers.scale_down import first_to_go
from tests.support.objects import Json

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ago(seconds: float) -> str:
    return timestamp(NOW - timedelta(seconds=seconds))


def pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: float | None = 100,
    created: float = 200,
    cost: str | None = None,
    restarts: int = 0,
) -> Json:
    conditions = []
    if ready is not None:
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ago(ready)}]
    meta: Json = {"name": name, "uid": name, "creationTimestamp": ago(created)}
    if cost is not None:
        meta["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    return {
        "metadata": meta,
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [{"restartCount": restarts}],
        },
    }


ORDER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("unassigned", {"node": "", "cost": "9"}, {"phase": "Pending", "ready": None}),
    ("pending", {"phase": "Pending", "ready": None}, {"ready": None}),
    ("not ready", {"ready": None, "cost": "9"}, {}),
    ("cheap", {"cost": "-1", "ready": 1000}, {"cost": "5", "ready": 1}),
    ("no cost is 0", {}, {"cost": "1"}),
    ("a cost that is no number is 0", {"cost": "cheap"}, {"cost": "1"}),
    ("crowded", {"node": "crowded", "ready": 1000}, {"node": "alone", "ready": 1}),
    ("ready more lately", {"ready": 1}, {"ready": 1000}),
    ("restarted more often", {"ready": None, "restarts": 3, "created": 9000}, {"ready": None}),
    ("younger", {"ready": None, "created": 1}, {"ready": None, "created": 1000}),
]


@pytest.mark.parametrize(("first", "second"), [case[1:] for case in ORDER], ids=lambda _: "")
def test_of_two_pods_one_goes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    pods = [pod("z", **first), pod("a", **second)]
    beside = [pod("x", node="crowded")]
    for order in (pods, pods[::-1]):
        assert first_to_go(order, [*order, *beside], NOW) == pods


def test_of_two_pods_of_about_one_age_the_uid_decides() -> None:
    pods = [pod("b", ready=100), pod("a", ready=110)]
    assert [each["metadata"]["name"] for each in first_to_go(pods, pods, NOW)] == ["a", "b"]


def test_pods_that_end_do_not_crowd_a_node() -> None:
    pods = [pod("a", node="x", ready=50), pod("b", node="y", ready=3000)]
    ended = [pod("c", node="y", phase="Failed"), pod("d", node="y", phase="Succeeded")]
    assert first_to_go(pods, [*pods, *ended], NOW) == pods


def test_the_order_does_not_depend_on_how_the_pods_come() -> None:
    pods = [
        pod(f"{index}", ready=2.0 ** (index % 5), created=2.0 ** (index % 3), restarts=index % 2)
        for index in range(20)
    ]
    wanted = first_to_go(pods, pods, NOW)
    for seed in range(5):
        mixed = random.Random(seed).sample(pods, len(pods))
        assert first_to_go(mixed, pods, NOW) == wanted
