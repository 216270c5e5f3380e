"""Fields of a manifest that the API does not know."""

from typing import Any

import pytest

from intact.picture.findings.manifest_fields import unknown_fields


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        ({"kind": "PodDisruptionBudget", "spec": {"maxUnavailable": 1}}, []),
        ({"kind": "Deployment", "spce": {}}, []),
        ({"kind": "PodDisruptionBudget", "spce": {}}, [("spce", "spec")]),
        (
            {"kind": "PodDisruptionBudget", "spec": {"maxUnavailble": 1}},
            [("spec.maxUnavailble", "maxUnavailable")],
        ),
        (
            {"kind": "PodDisruptionBudget", "spec": {"selector": {"matchLabel": {}}}},
            [("spec.selector.matchLabel", "matchLabels")],
        ),
        (
            {
                "kind": "PodUnavailableBudget",
                "spec": {"selector": {"matchExpressions": [{"key": "a", "value": []}]}},
            },
            [("spec.selector.matchExpressions[0].value", "values")],
        ),
        (
            {"kind": "PodUnavailableBudget", "spec": {"podGroupPolicy": {"groupLabel": "a"}}},
            [("spec.podGroupPolicy.groupLabel", "groupLabelKey")],
        ),
        ({"kind": "PodDisruptionBudget", "spec": "text"}, []),
    ],
)
def test_unknown_fields_and_what_is_meant(manifest: Any, found: list[tuple[str, str]]) -> None:
    errors = unknown_fields(manifest)
    assert [error.path for error in errors] == [path for path, _ in found]
    for error, (_, meant) in zip(errors, found, strict=True):
        assert error.message.endswith(f"did you mean {meant}?")
