"""Label selectors as kubectl takes them."""

import pytest

from intact.budget.selector_text import parse_selector
from intact.model.meta import LabelSelectorRequirement


def one(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=list(values))


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        ("env=prod", [one("env", "In", "prod")]),
        ("env == prod", [one("env", "In", "prod")]),
        ("env!=prod", [one("env", "NotIn", "prod")]),
        ("env=", [one("env", "In", "")]),
        ("env", [one("env", "Exists")]),
        ("!a.b/env", [one("a.b/env", "DoesNotExist")]),
        ("zone in (a, b),!x", [one("zone", "In", "a", "b"), one("x", "DoesNotExist")]),
        ("zone notin (a)", [one("zone", "NotIn", "a")]),
        ("a=b, c=d", [one("a", "In", "b"), one("c", "In", "d")]),
    ],
)
def test_a_text_becomes_requirements(
    text: str, requirements: list[LabelSelectorRequirement]
) -> None:
    assert parse_selector(text).match_expressions == requirements


@pytest.mark.parametrize("text", ["a b", "=a", "a in b", "a=b c", "a in (b", "!!a"])
def test_what_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a requirement like"):
        parse_selector(text)
