"""A finding, and the object that it is about."""

import pytest

from intact.picture.findings.finding import About, Severity, found
from intact.picture.findings.rules import NEVER_ALLOWS


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (About("PodDisruptionBudget", "apps", "web"), "PodDisruptionBudget apps/web"),
        (About("PodDisruptionBudget", "", "web"), "PodDisruptionBudget web"),
    ],
)
def test_an_object_is_named_with_its_namespace(about: About, text: str) -> None:
    assert str(about) == text


def test_a_finding_has_the_severity_of_its_rule_unless_it_says_another() -> None:
    about = About("PodDisruptionBudget", "apps", "web")
    assert found(NEVER_ALLOWS, about, "m", "a").severity is Severity.ERROR
    assert found(NEVER_ALLOWS, about, "m", "a", "", Severity.NOTE).severity is Severity.NOTE
