"""What the server fills in where a workload says nothing."""

from typing import Any

import pytest

from intact.kube.client import Client
from intact.kube.resources import Resource
from tests.support.objects import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    STATEFUL_SETS,
    Json,
    daemon_set,
    deployment,
    stateful_set,
)

RETAIN = {"whenDeleted": "Retain", "whenScaled": "Retain"}


@pytest.mark.parametrize(
    ("resource", "body", "filled"),
    [
        (
            DEPLOYMENTS,
            deployment("w"),
            {
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                },
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
        ),
        (
            STATEFUL_SETS,
            stateful_set("w"),
            {
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "persistentVolumeClaimRetentionPolicy": RETAIN,
                "revisionHistoryLimit": 10,
            },
        ),
        (
            STATEFUL_SETS,
            stateful_set("w", updateStrategy={"type": "RollingUpdate"}),
            {"updateStrategy": {"type": "RollingUpdate"}},
        ),
        (
            STATEFUL_SETS,
            stateful_set("w", updateStrategy={"rollingUpdate": {"maxUnavailable": 3}}),
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
        ),
        (
            DAEMON_SETS,
            daemon_set("w"),
            {
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
                },
                "revisionHistoryLimit": 10,
            },
        ),
        (
            DAEMON_SETS,
            daemon_set("w", updateStrategy={"type": "OnDelete"}),
            {"updateStrategy": {"type": "OnDelete"}},
        ),
    ],
)
async def test_a_workload_is_stored_with_its_defaults(
    client: Client, resource: Resource[Json], body: Json, filled: dict[str, Any]
) -> None:
    made = await client.create(resource, body, "default")
    assert {name: made["spec"][name] for name in filled} == filled


async def test_a_job_selects_its_own_pods(client: Client) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}}
    body = {"metadata": {"generateName": "w-"}, "spec": {"template": template}}
    made = await client.create(JOBS, body, "default")
    meta, spec = made["metadata"], made["spec"]
    for prefix in ("", "batch.kubernetes.io/"):
        labels = spec["template"]["metadata"]["labels"]
        assert labels[f"{prefix}job-name"] == meta["name"]
        assert labels[f"{prefix}controller-uid"] == meta["uid"]
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": meta["uid"]}}
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)
    changed = await client.patch(JOBS, {"spec": {"suspend": True}}, meta["name"], "default")
    assert changed["spec"] == {**spec, "suspend": True}
    queue = {"metadata": {"name": "q"}, "spec": {"template": template, "parallelism": 2}}
    assert "completions" not in (await client.create(JOBS, queue, "default"))["spec"]
