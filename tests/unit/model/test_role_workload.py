"""What is read off the workload of a role."""

from typing import Any

import msgspec
import pytest

from intact.model.role_workload import RoleWorkloadSpec, RoleWorkloadStatus


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({}, 0, id="none"),
        pytest.param(
            {"updateStrategy": {"rollingUpdate": {"partition": 3}}}, 3, id="of a StatefulSet"
        ),
        pytest.param(
            {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": 2}}},
            2,
            id="of a LeaderWorkerSet",
        ),
    ],
)
def test_the_partition(body: dict[str, Any], expected: int) -> None:
    assert msgspec.convert(body, RoleWorkloadSpec).partition == expected


@pytest.mark.parametrize(("status", "expected"), [("True", 2), ("False", None)])
def test_a_deployment_is_short_only_if_it_cannot_create_pods(
    status: str, expected: int | None
) -> None:
    body = {"replicas": 2, "conditions": [{"type": "ReplicaFailure", "status": status}]}
    assert msgspec.convert(body, RoleWorkloadStatus).short == expected
