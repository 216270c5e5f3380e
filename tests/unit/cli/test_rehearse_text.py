"""The report for people."""

from dataclasses import replace

import pytest

from intact.cli.rehearse_text import text, times
from intact.sandbox.rehearsal.report import BudgetReport, Change, Comparison
from tests.support.small_clusters import SmallCluster
from tests.unit.sandbox.rehearsal.scene import budget, drained


def made() -> SmallCluster:
    cluster = SmallCluster()
    for name in ("red", "blue"):
        cluster.pod_group(name, ["node-0", "node-1"])
    cluster.pdb("llm", {"app": "llm"}, scope="Workload", maxUnavailable=1)
    return cluster


def test_a_drain_that_goes_through() -> None:
    shown = text(drained(made(), "node-0"))
    assert shown.startswith("drain goes through, after ")
    assert "2 pods go, 0 never do; groups break 2 times" in shown
    assert "PDB default/llm  groups  2         1         1 " in shown
    assert "default/red   1 " in shown
    assert "StatefulSet default/red   5s           median of 2 pods that are there" in shown
    assert "never go:" not in shown
    assert "Intact" not in shown


def test_a_drain_that_does_not() -> None:
    cluster = made()
    cluster.pod("bare", "node-0")
    cluster.deployment("web", ["node-0"], nodeSelector={"kubernetes.io/hostname": "node-0"})
    shown = text(drained(cluster, "node-0"))
    assert shown.startswith("drain does not go through")
    assert "default/bare on node-0 (Bare): declares no controller" in shown
    assert "kubectl drain node-0 stops before it evicts anything" in shown
    assert "Pods that find no place:\n  default/web-" in shown


def test_what_would_differ_with_intact() -> None:
    report = drained(made(), "node-0")
    found: BudgetReport = budget(report, "llm")
    change = Change("PodDisruptionBudget default/llm", found, found)
    assert "With Intact" not in text(report)
    with_it = replace(report, with_intact=Comparison(True, 7.0, 2, [change]))
    assert "would count groups: at most 1 group down at once" in text(with_it)
    assert "groups break 2 times instead of 2 times" in text(with_it)
    nothing = replace(report, with_intact=Comparison(True, 7.0, 2, []))
    assert "nothing else would differ" in text(nothing)


def test_a_long_order_is_cut_off() -> None:
    cluster = SmallCluster()
    cluster.deployment("web", ["node-0"] * 45)
    assert "… and 5 more; -o json has all" in text(drained(cluster, "node-0"))


@pytest.mark.parametrize(("number", "shown"), [(0, "0 times"), (1, "once"), (2, "2 times")])
def test_how_often(number: int, shown: str) -> None:
    assert times(number) == shown


def test_one_pod_goes_and_several_go() -> None:
    cluster = SmallCluster()
    cluster.deployment("web", ["node-0"])
    cluster.pod("bare", "node-0")
    shown = text(drained(cluster, "node-0"))
    assert "1 pod goes, 1 never does; " in shown
    assert "median of 1 pod that is there" in shown
