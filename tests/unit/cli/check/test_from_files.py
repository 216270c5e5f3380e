"""Findings about the budgets in files: the examples have none, and each broken budget has its
own."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.cli.check.from_files import check_files
from intact.cli.check.located import Located
from intact.cli.check.manifests import Manifest, read_manifests
from intact.picture.findings.check import worst
from intact.picture.findings.finding import Severity
from intact.picture.findings.rules import RULES
from tests.support.broken_budgets import Broken, broken_budgets
from tests.support.examples import EXAMPLES, ROOT

FIELDS = st.sampled_from(
    [
        "metadata",
        "name",
        "labels",
        "annotations",
        "spec",
        "selector",
        "matchLabels",
        "matchExpressions",
        "key",
        "operator",
        "values",
        "maxUnavailable",
        "minAvailable",
        "targetRef",
        "podGroupPolicy",
        "groupLabelKey",
        "minReadyReplicas",
        "replicas",
        "template",
        "leaderWorkerTemplate",
        "size",
        "workerTemplate",
    ]
)
ONLY_IN_CLUSTERS = {"IB501", "IB502", "IB503"}


def checked(*sources: Path, namespace: str = "") -> list[Located]:
    return check_files(*read_manifests([str(one) for one in sources]), namespace)


@pytest.mark.parametrize("example", [*EXAMPLES, ROOT / "examples"], ids=lambda one: one.name)
def test_the_examples_have_nothing_worse_than_a_note(example: Path) -> None:
    findings = [one.finding for one in checked(example)]
    assert worst(findings) in (None, Severity.NOTE), findings


@pytest.mark.parametrize("broken", broken_budgets(), ids=str)
def test_a_broken_budget_has_its_finding_and_nothing_as_bad(broken: Broken) -> None:
    located = checked(broken.path)
    most = worst(one.finding for one in located)
    found = [one for one in located if one.finding.severity is most]
    assert [(one.finding.code, one.finding.field) for one in found] == [(broken.code, broken.field)]
    assert all(one.place is not None and one.place.line > 1 for one in located)


def test_there_is_a_broken_budget_for_each_rule_that_files_can_break() -> None:
    assert {one.code for one in broken_budgets()} == set(RULES) - ONLY_IN_CLUSTERS


def test_every_finding_says_what_is_wrong_and_what_to_do() -> None:
    for broken in broken_budgets():
        for one in checked(broken.path):
            assert one.finding.message
            assert one.finding.action.endswith(".")


BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  minAvailable: 2
  selector: {matchLabels: {app: web}}
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  template:
    metadata: {labels: {app: web}}
    spec: {}
"""
AUTOSCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  minReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""


def codes(located: list[Located]) -> list[str]:
    return [one.finding.code for one in located]


def test_a_budget_and_its_workload_may_be_in_two_files(tmp_path: Path) -> None:
    (tmp_path / "pdb.yaml").write_text(BUDGET)
    assert codes(checked(tmp_path)) == ["IB201"]
    (tmp_path / "web.yaml").write_text(WORKLOAD.replace("REPLICAS", "2"))
    assert codes(checked(tmp_path)) == ["IB101"]


def test_an_overlay_is_checked_by_itself(tmp_path: Path) -> None:
    (tmp_path / "pdb.yaml").write_text(BUDGET)
    (tmp_path / "prod.yaml").write_text(WORKLOAD.replace("REPLICAS", "5"))
    (tmp_path / "test.yaml").write_text(WORKLOAD.replace("REPLICAS", "2"))
    [found] = checked(tmp_path)
    assert found.finding.message.startswith("minAvailable is 2: the budget requires 2 of 2 pods")


def test_what_an_autoscaler_keeps_counts(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(f"{BUDGET}---\n{WORKLOAD}---\n{AUTOSCALER}")
    text = (tmp_path / "all.yaml").read_text()
    (tmp_path / "all.yaml").write_text(text.replace("  replicas: REPLICAS\n", ""))
    assert codes(checked(tmp_path)) == []


def test_bad_yaml_does_not_hide_the_other_files(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: {\n")
    (tmp_path / "pdb.yaml").write_text(BUDGET.replace("2", "100%"))
    assert codes(checked(tmp_path)) == ["IB000", "IB101", "IB201"]


def test_a_namespace_for_objects_that_name_none(tmp_path: Path) -> None:
    (tmp_path / "pdb.yaml").write_text(BUDGET)
    [found] = checked(tmp_path, namespace="apps")
    assert found.finding.about.namespace == "apps"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("100%"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=8,
)


@given(
    budget=st.dictionaries(FIELDS, ANYTHING),
    kind=st.sampled_from(["PodDisruptionBudget", "PodUnavailableBudget"]),
    workload=st.dictionaries(FIELDS, ANYTHING),
)
def test_whatever_a_manifest_holds_it_is_checked(
    budget: dict[str, object], kind: str, workload: dict[str, object]
) -> None:
    group = "policy/v1" if kind == "PodDisruptionBudget" else "policy.kruise.io/v1alpha1"
    manifests = [
        Manifest("a", {"apiVersion": group, "kind": kind, "metadata": {"name": "a"}} | budget),
        Manifest("a", {"kind": "LeaderWorkerSet", "metadata": {"name": "b"}, "spec": workload}),
    ]
    for one in check_files(manifests, []):
        assert one.finding.message
