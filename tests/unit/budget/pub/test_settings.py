"""What the annotations of a budget say, also where they are wrong."""

import msgspec
import pytest

from intact.budget.enforcement import ENFORCEMENT, Enforcement
from intact.budget.pub.settings import (
    NODE_DEADLINES,
    PROTECT_OPERATIONS,
    PROTECT_TOTAL_REPLICAS,
    UNHEALTHY_POLICY,
    NodeDeadlines,
    PubSettings,
    UnhealthyPolicy,
    read_settings,
    rules_of,
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


def with_spec(spec: dict[str, object], **annotations: str) -> PodUnavailableBudget:
    return msgspec.convert(
        {"metadata": {"name": "b", "annotations": annotations}, "spec": spec}, PodUnavailableBudget
    )


def test_the_fields_win_over_their_annotations() -> None:
    annotations = {PROTECT_OPERATIONS: "UPDATE", PROTECT_TOTAL_REPLICAS: "7"}
    fields = {"protectOperations": ["EVICT"], "protectTotalReplicas": 3}
    found = read_settings(with_spec(fields, **annotations))
    assert (set(found.operations), found.total) == ({"EVICT"}, 3)
    found = read_settings(with_spec({"protectOperations": []}, **annotations))
    assert (set(found.operations), found.total) == ({"UPDATE"}, 7)


@pytest.mark.parametrize(
    ("spec", "operations", "total"),
    [
        ({"protectOperations": ["DELET"]}, DEFAULT, None),
        ({"protectOperations": ["RESIZE", "DELET"]}, DEFAULT | {"RESIZE"}, None),
        ({"protectTotalReplicas": 0}, DEFAULT, None),
        ({"protectTotalReplicas": -4}, DEFAULT, None),
    ],
)
def test_a_field_with_a_bad_value_does_not_protect_less(
    spec: dict[str, object], operations: set[str], total: int | None
) -> None:
    found = read_settings(with_spec(spec))
    assert (set(found.operations), found.total) == (operations, total)


@pytest.mark.parametrize(
    ("selector", "ignored"),
    [
        ({"matchLabels": {"track": "canary"}}, True),
        ({"matchLabels": {"track": "beta"}}, False),
        ({"matchExpressions": [{"key": "track", "operator": "Exists"}]}, True),
        # A selector that is empty or cannot be read must not free every pod.
        ({}, False),
        ({"matchExpressions": [{"key": "track", "operator": "Gt", "values": ["1"]}]}, False),
    ],
)
def test_a_selector_names_the_pods_that_are_ignored(selector: object, ignored: bool) -> None:
    found = read_settings(with_spec({"ignoredPodSelector": selector}))
    assert found.ignores({"track": "canary"}) is ignored


def test_a_budget_without_annotations_has_the_defaults() -> None:
    assert read_settings(annotated()) == PubSettings(
        operations=frozenset(DEFAULT), total=None, enforcement=Enforcement.ENFORCE
    )


def test_other_settings_that_a_recount_depends_on_are_other_rules() -> None:
    settings = [
        PubSettings(),
        PubSettings(total=0),
        PubSettings(total=4),
        PubSettings(operations=frozenset({"EVICT"})),
        PubSettings(operations=frozenset({"EVICT", "DELETE"})),
        PubSettings(unhealthy=UnhealthyPolicy.IF_HEALTHY_BUDGET),
    ]
    rules = [rules_of(one) for one in settings]
    assert len(set(rules)) == len(rules)
    assert rules[0] == ""
    # The gate reads the enforcement for each request.
    assert rules_of(PubSettings(enforcement=Enforcement.WARN)) == ""


@pytest.mark.parametrize(
    ("annotations", "policy"),
    [
        ({}, UnhealthyPolicy.ALWAYS_ALLOW),
        ({UNHEALTHY_POLICY: "AlwaysAllow"}, UnhealthyPolicy.ALWAYS_ALLOW),
        ({UNHEALTHY_POLICY: "IfHealthyBudget"}, UnhealthyPolicy.IF_HEALTHY_BUDGET),
        # A slip of somebody who meant something: the stricter one.
        ({UNHEALTHY_POLICY: "alwaysAllow"}, UnhealthyPolicy.IF_HEALTHY_BUDGET),
        ({UNHEALTHY_POLICY: ""}, UnhealthyPolicy.IF_HEALTHY_BUDGET),
    ],
    ids=str,
)
def test_an_annotation_sets_the_unhealthy_policy(
    annotations: dict[str, str], policy: UnhealthyPolicy
) -> None:
    assert read_settings(annotated(**annotations)).unhealthy is policy


@pytest.mark.parametrize(
    ("annotations", "known"),
    [
        ({}, NodeDeadlines.RESPECT),
        ({NODE_DEADLINES: "Respect"}, NodeDeadlines.RESPECT),
        ({NODE_DEADLINES: "Ignore"}, NodeDeadlines.IGNORE),
        ({NODE_DEADLINES: "ignore"}, NodeDeadlines.IGNORE),
        ({NODE_DEADLINES: ""}, NodeDeadlines.IGNORE),
    ],
    ids=str,
)
def test_an_annotation_says_whether_deadlines_of_nodes_count(
    annotations: dict[str, str], known: NodeDeadlines
) -> None:
    assert read_settings(annotated(**annotations)).node_deadlines is known
