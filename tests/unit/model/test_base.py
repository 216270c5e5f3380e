"""Reading a view field by field."""

from intact.model.base import read_leniently
from intact.model.pub import PubSpec


def test_each_field_is_read_and_what_is_wrong_with_the_others_is_said() -> None:
    raw = {"maxUnavailable": 1, "minAvailable": 1.5, "selector": {"matchLabels": 5}, "other": 1}
    found, problems = read_leniently(PubSpec, raw, "spec")
    assert found == PubSpec(max_unavailable=1)
    assert [problem.partition(":")[0] for problem in problems] == [
        "spec.selector",
        "spec.minAvailable",
    ]


def test_null_and_nothing_are_defaults() -> None:
    assert read_leniently(PubSpec, None, "spec") == (PubSpec(), [])
    assert read_leniently(PubSpec, {"selector": None}, "spec") == (PubSpec(), [])


def test_what_is_no_object_cannot_be_read() -> None:
    assert read_leniently(PubSpec, 5, "spec") == (PubSpec(), ["spec: it is not an object"])
