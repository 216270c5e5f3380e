"""What the annotations of a budget say, also where they are wrong."""

import pytest

from intact.budget.pub.settings import (
    ENFORCEMENT,
    PROTECT_OPERATIONS,
    PROTECT_TOTAL_REPLICAS,
    Enforcement,
    enforcement,
    protected_operations,
    total_override,
)
from intact.model.meta import ObjectMeta
from intact.model.pub import PodUnavailableBudget

DEFAULT = {"DELETE", "UPDATE", "EVICT"}


def annotated(**annotations: str) -> PodUnavailableBudget:
    return PodUnavailableBudget(metadata=ObjectMeta(name="b", annotations=annotations))


@pytest.mark.parametrize(
    ("value", "operations"),
    [
        ("", DEFAULT),
        (" , ", DEFAULT),
        ("DELETE", {"DELETE"}),
        ("DELETE,DELETE", {"DELETE"}),
        (" EVICT , RESIZE", {"EVICT", "RESIZE"}),
        # A user meant to protect something; a slip must not protect less than the default.
        ("DELET", DEFAULT),
        ("RESIZE,DELET", DEFAULT | {"RESIZE"}),
    ],
)
def test_an_annotation_names_the_protected_operations(value: str, operations: set[str]) -> None:
    assert protected_operations(annotated(**{PROTECT_OPERATIONS: value})) == operations


@pytest.mark.parametrize(
    ("value", "total"),
    [("0", 0), ("12", 12), ("", None), ("-1", None), ("x", None), ("1.5", None), ("٣", None)],
)
def test_an_annotation_overrides_the_total(value: str, total: int | None) -> None:
    assert total_override(annotated(**{PROTECT_TOTAL_REPLICAS: value})) == total


@pytest.mark.parametrize(
    ("value", "mode"),
    [
        ("Enforce", Enforcement.ENFORCE),
        ("Warn", Enforcement.WARN),
        ("Audit", Enforcement.AUDIT),
        ("audit", Enforcement.ENFORCE),
        ("", Enforcement.ENFORCE),
    ],
)
def test_an_annotation_sets_the_enforcement(value: str, mode: Enforcement) -> None:
    assert enforcement(annotated(**{ENFORCEMENT: value})) is mode


def test_a_budget_without_annotations_has_the_defaults() -> None:
    plain = annotated()
    assert protected_operations(plain) == DEFAULT
    assert total_override(plain) is None
    assert enforcement(plain) is Enforcement.ENFORCE
