"""Templates whose shape Intact cannot add to, and the field that is named."""

from typing import Any

import pytest

from intact.rollout.spec.template_shape import shape_errors
from tests.support.rbg_objects import template


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"metadata": 1}, "t.metadata: Invalid value: 1: must be an object"),
        ({"metadata": {"labels": []}}, "t.metadata.labels: Invalid value: []: must be an object"),
        (
            {"metadata": {"annotations": {"a": 1}}},
            "t.metadata.annotations[a]: Invalid value: 1: must be a string",
        ),
        ({"spec": "x"}, 't.spec: Invalid value: "x": must be an object'),
        ({"spec": {"containers": {}}}, "t.spec.containers: Invalid value: {}: must be a list"),
        (
            {"spec": {"initContainers": [{"name": "a", "env": [{}]}]}},
            "t.spec.initContainers[0].env[0].name: must be a name",
        ),
        (
            {"spec": {"containers": [{"name": "a", "volumeMounts": ["x"]}]}},
            't.spec.containers[0].volumeMounts[0]: Invalid value: "x": must be an object',
        ),
    ],
)
def test_the_wrong_field_is_named(given: dict[str, Any], expected: str) -> None:
    assert [str(error) for error in shape_errors(given, "t")] == [expected]


def test_a_template_with_the_right_shape_and_an_empty_patch_are_fine() -> None:
    mounted = template(volumes=[{"name": "v"}], initContainers=[{"name": "i", "env": []}])
    assert list(shape_errors(mounted, "t")) == []
    assert list(shape_errors({}, "t")) == []
