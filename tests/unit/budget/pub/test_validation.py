"""Whether a budget may be stored, as `intact.budget.pub.validation` says."""

from typing import Any

import msgspec
import pytest

from intact.budget.pub.validation import Verdict, validate
from intact.model.pub import PodUnavailableBudget
from tests.support.pub_cases import (
    ACCEPTED,
    REFUSED,
    Case,
    amount,
    budget,
    expression,
    groups,
    selector,
    target,
)


def pub(spec: dict[str, Any], name: str = "budget", **annotations: str) -> PodUnavailableBudget:
    body = budget(spec, name, annotations=annotations)
    return msgspec.convert(body, PodUnavailableBudget)


def annotated(key: str, value: str) -> PodUnavailableBudget:
    return pub(amount(1), **{key: value})


def judged(case: Case) -> Verdict:
    return validate(pub(case.spec), [], pub(case.old) if case.old is not None else None)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
def test_a_good_spec_is_accepted(case: Case) -> None:
    assert judged(case).errors == []


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_bad_spec_is_refused_with_its_field(case: Case) -> None:
    try:
        errors = judged(case).errors
    except msgspec.ValidationError:
        assert not case.message, "a shape that the CRD refuses without a rule of ours"
        return
    assert any(case.field == each.path and case.message in each.message for each in errors), errors


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("kruise.io/pub-protect-operations", "DELETE", ""),
        ("kruise.io/pub-protect-operations", "DELETE, UPDATE ,EVICT,RESIZE", ""),
        ("kruise.io/pub-protect-operations", "", ""),
        ("kruise.io/pub-protect-operations", "DELETE,PATCH", "'PATCH' is not one of DELETE"),
        ("kruise.io/pub-protect-operations", "delete", "'delete' is not one of"),
        ("pub.kruise.io/protect-total-replicas", "0", ""),
        ("pub.kruise.io/protect-total-replicas", "100", ""),
        ("pub.kruise.io/protect-total-replicas", "-1", "'-1' is not an integer from 0"),
        ("pub.kruise.io/protect-total-replicas", "ten", "is not an integer"),
        ("pub.kruise.io/protect-total-replicas", "", "is not an integer"),
        ("pub.kruise.io/protect-total-replicas", "2147483648", "is not an integer"),
        ("intact.dev/enforcement", "Enforce", ""),
        ("intact.dev/enforcement", "Warn", ""),
        ("intact.dev/enforcement", "Audit", ""),
        ("intact.dev/enforcement", "warn", "'warn' is not one of Enforce, Warn, Audit"),
        ("intact.dev/enforcement", "", "is not one of"),
        ("example.com/annotation", "whatever", ""),
    ],
)
def test_a_bad_annotation_is_refused(key: str, value: str, problem: str) -> None:
    errors = validate(annotated(key, value), []).errors
    if not problem:
        assert errors == []
        return
    [error] = errors
    assert error.path == f"metadata.annotations[{key}]"
    assert error.value == value
    assert problem in error.message


def test_a_total_is_the_same_in_the_field_and_in_the_annotation() -> None:
    key = "pub.kruise.io/protect-total-replicas"
    spec = amount(1) | {"protectTotalReplicas": 4}
    assert validate(pub(spec, **{key: "4"}), []).errors == []
    [error] = validate(pub(spec, **{key: "5"}), []).errors
    assert (error.path, error.value) == (f"metadata.annotations[{key}]", "5")
    assert error.message == "spec.protectTotalReplicas is 4; both must agree"


def test_a_total_beyond_int32_is_refused() -> None:
    [error] = validate(pub(amount(1) | {"protectTotalReplicas": 2**31}), []).errors
    assert error.path == "spec.protectTotalReplicas"


def test_both_amounts_without_groups_are_warned_of() -> None:
    [warning] = validate(pub(amount(1) | {"minAvailable": 1}), []).warnings
    assert "maxUnavailable wins" in warning
    assert validate(pub(groups() | {"minAvailable": 1}), []).warnings == []


WEB = selector(app="web")


@pytest.mark.parametrize(
    ("one", "two", "overlap"),
    [
        # The three examples of the proposal.
        (WEB, selector(app="web"), True),
        (WEB, selector(app="db"), False),
        (WEB, selector(backend="true"), False),
        # What can only select pods that the other selects already.
        (WEB, selector(app="web", tier="x"), True),
        (WEB, selector(expression("app", "In", "web", "db")), True),
        (selector(expression("app", "Exists")), WEB, True),
        (selector(app="web", tier="x"), selector(app="web", zone="y"), False),
        (target(), target(), True),
        (target(), target(apiVersion="apps/v1beta2"), True),
        (target(), target(apiVersion="other.io/v1"), False),
        (target(), target(kind="StatefulSet"), False),
        (target(), target(name="db"), False),
        (target(apiVersion="v1"), target(apiVersion="apps/v1"), False),
        # Which pods the workload will have is not known.
        (WEB, target(), False),
    ],
)
def test_budgets_that_overlap_are_refused(
    one: dict[str, Any], two: dict[str, Any], overlap: bool
) -> None:
    for first, second in ((one, two), (two, one)):
        errors = validate(pub(first, "new"), [pub(second, "other")]).errors
        assert bool(errors) == overlap
        assert all("other" in error.message for error in errors)


def test_a_budget_does_not_overlap_with_itself() -> None:
    assert validate(pub(WEB), [pub(WEB)]).errors == []


def test_an_update_is_only_warned_of_an_overlap() -> None:
    """Two that were created at once overlap; both must still be editable."""
    verdict = validate(pub(WEB | {"maxUnavailable": 2}, "a"), [pub(WEB, "b")], pub(WEB, "a"))
    assert verdict.errors == []
    assert verdict.warnings == ["spec.selector: it overlaps with the selector of the budget b"]


def test_an_update_is_not_refused_for_what_was_wrong_before() -> None:
    bad = annotated("intact.dev/enforcement", "perhaps")
    assert validate(bad, [], bad).errors == []
    worse = annotated("intact.dev/enforcement", "maybe")
    assert [error.value for error in validate(worse, [], bad).errors] == ["maybe"]


def test_a_selector_that_cannot_be_read_overlaps_with_nothing() -> None:
    odd = pub(selector(expression("app", "Gt", "1")), "odd")
    assert validate(pub(WEB), [odd]).errors == []
