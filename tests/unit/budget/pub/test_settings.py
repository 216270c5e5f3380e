"""What the annotations of a budget say, also where they are wrong."""

import pytest

from intact.budget.pub.settings import (
    ENFORCEMENT,
    PROTECT_OPERATIONS,
    PROTECT_TOTAL_REPLICAS,
    Enforcement,
    PubSettings,
    read_settings,
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
    assert read_settings(annotated(**{PROTECT_OPERATIONS: value})).operations == operations


@pytest.mark.parametrize(
    ("value", "total"),
    [("0", 0), ("12", 12), ("", None), ("-1", None), ("x", None), ("1.5", None), ("٣", None)],
)
def test_an_annotation_overrides_the_total(value: str, total: int | None) -> None:
    assert read_settings(annotated(**{PROTECT_TOTAL_REPLICAS: value})).total == total


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
    assert read_settings(annotated(**{ENFORCEMENT: value})).enforcement is mode


def test_a_budget_without_annotations_has_the_defaults() -> None:
    assert read_settings(annotated()) == PubSettings(
        operations=frozenset(DEFAULT), total=None, enforcement=Enforcement.ENFORCE
    )
