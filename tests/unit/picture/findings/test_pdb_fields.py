"""What an API server refuses in a PodDisruptionBudget."""

from typing import Any

import pytest

from intact.picture.findings.pdb_fields import pdb_errors
from tests.support.findings import pdb


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"maxUnavailable": 1}, []),
        ({"maxUnavailable": "007%"}, []),
        ({}, []),
        ({"maxUnavailable": -1}, ["spec.maxUnavailable"]),
        ({"minAvailable": "1.5%"}, ["spec.minAvailable"]),
        ({"minAvailable": "101%"}, ["spec.minAvailable"]),
        ({"minAvailable": ""}, ["spec.minAvailable"]),
        ({"minAvailable": 1, "maxUnavailable": 1}, ["spec"]),
        ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, []),
        ({"unhealthyPodEvictionPolicy": "Always"}, ["spec.unhealthyPodEvictionPolicy"]),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
            ["spec.selector.matchExpressions[0].operator"],
        ),
        ({"selector": {"matchLabels": {"-a": "b"}}}, ["spec.selector.matchLabels"]),
        ({"selector": {"matchLabels": {"a": "b/c"}}}, ["spec.selector.matchLabels.a"]),
    ],
)
def test_bad_fields_are_named(spec: Any, paths: list[str]) -> None:
    assert [error.path for error in pdb_errors(pdb(**spec))] == paths
