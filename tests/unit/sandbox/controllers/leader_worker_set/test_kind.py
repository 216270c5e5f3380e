"""What a LeaderWorkerSet asks for, with and without the defaults of the server."""

import pytest

from intact.sandbox.controllers.leader_worker_set.kind import KIND, Wanted, wanted
from tests.support.objects import Json
from tests.unit.sandbox.controllers.leader_worker_set.scene import leader_worker_set


def test_the_server_fills_in_what_is_left_out() -> None:
    body: Json = {"spec": {"leaderWorkerTemplate": {"workerTemplate": {}}}}
    assert KIND.default is not None
    KIND.default(body)
    spec = body["spec"]
    assert (spec["replicas"], spec["startupPolicy"]) == (1, "LeaderCreated")
    template = spec["leaderWorkerTemplate"]
    assert (template["size"], template["restartPolicy"]) == (1, "RecreateGroupOnPodRestart")
    rolling = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}
    assert spec["rolloutStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdateConfiguration": rolling,
    }


def test_a_set_without_defaults_is_read_in_the_same_way() -> None:
    filled = leader_worker_set()
    assert KIND.default is not None
    KIND.default(filled)
    assert wanted(leader_worker_set()) == wanted(filled)
    expected = Wanted(
        replicas=2, size=3, recreates=True, leader_first=False, unavailable=1, surge=0, partition=0
    )
    assert wanted(filled) == expected


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [(2, 1, (2, 1)), ("25%", "25%", (2, 3)), (1, 20, (1, 10)), ("5%", 0, (0, 0))],
)
def test_amounts_are_of_groups(
    unavailable: int | str, surge: int | str, expected: tuple[int, int]
) -> None:
    rolling = {"maxUnavailable": unavailable, "maxSurge": surge}
    body = leader_worker_set(10, rolloutStrategy={"rollingUpdateConfiguration": rolling})
    found = wanted(body)
    assert (found.unavailable, found.surge) == expected
