"""The annotation that says what becomes of a denial."""

import pytest

from intact.budget.enforcement import ENFORCEMENT, Enforcement, enforcement_of


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("Enforce", Enforcement.ENFORCE),
        ("Warn", Enforcement.WARN),
        ("Audit", Enforcement.AUDIT),
        ("audit", Enforcement.ENFORCE),
        ("", Enforcement.ENFORCE),
    ],
)
def test_a_bad_value_protects_as_none_does(text: str, mode: Enforcement) -> None:
    assert enforcement_of({ENFORCEMENT: text}) is mode
    assert enforcement_of({}) is Enforcement.ENFORCE
