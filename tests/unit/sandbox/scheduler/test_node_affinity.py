"""Which nodes a pod wants."""

from typing import Any

import pytest

from intact.sandbox.scheduler.node_affinity import matches, named_nodes, preference

Json = dict[str, Any]
LABELS = {"zone": "a", "cores": "64"}


def required(*terms: Json) -> Json:
    selector = {"nodeSelectorTerms": list(terms)}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    }


def expression(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(*names: str, operator: str = "In") -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(names)}]}


@pytest.mark.parametrize(
    ("spec", "holds"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        (required(expression("zone", "In", "a", "b")), True),
        (required(expression("zone", "NotIn", "a")), False),
        (required(expression("rack", "NotIn", "a")), True),
        (required(expression("zone", "Exists")), True),
        (required(expression("rack", "Exists")), False),
        (required(expression("rack", "DoesNotExist")), True),
        (required(expression("cores", "Gt", "32")), True),
        (required(expression("cores", "Lt", "32")), False),
        (required(expression("zone", "Gt", "1")), False),
        (required(expression("zone", "In", "b"), expression("cores", "Exists")), True),
        (required({}), False),
        (required(field("n")), True),
        (required(field("n", operator="NotIn")), False),
        (required({**field("n"), **expression("zone", "In", "b")}), False),
        ({"nodeSelector": {"zone": "b"}, **required(field("n"))}, False),
    ],
)
def test_what_is_required(spec: Json, holds: bool) -> None:
    assert matches(spec, "n", LABELS) == holds


def test_preferences_add_up() -> None:
    preferred = [
        {"weight": 10, "preference": expression("zone", "In", "a")},
        {"weight": 5, "preference": expression("cores", "Gt", "32")},
        {"weight": 1, "preference": expression("rack", "Exists")},
    ]
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    assert preference({"affinity": {"nodeAffinity": affinity}}, "n", LABELS) == 15


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, None),
        (required(field("a"), field("b")), {"a", "b"}),
        (required(field("a"), expression("zone", "Exists")), None),
        (required(field("a", operator="NotIn")), None),
    ],
)
def test_the_nodes_that_an_affinity_names(spec: Json, names: set[str] | None) -> None:
    assert named_nodes(spec) == names
