"""Findings about budgets that cover the same pods."""

from typing import Any

import pytest

from intact.picture.findings.facts import subjects
from intact.picture.findings.overlaps import about_overlaps
from tests.support.findings import codes, facts, pdb, pods, pub

TARGET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
OTHERS = {"matchLabels": {"app": "other"}}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((pdb("a"), pdb("b"), pods(2)), [("IB401", "error")]),
        ((pdb("a"), pdb("b")), [("IB401", "warning")]),
        ((pdb("a"), pdb("b", selector=OTHERS), pods(2)), []),
        ((pdb("a"), pdb("b", namespace="elsewhere"), pods(2)), []),
        ((pub("a"), pub("b"), pods(2)), [("IB402", "error")]),
        ((pub("a"), pub("b", selector=OTHERS), pods(2)), []),
        ((pub("a"), pub("b", selector=None, targetRef=TARGET), pods(2)), [("IB402", "warning")]),
        ((pub("a"), pdb("b"), pods(2)), [("IB403", "note")]),
        ((pub("a"), pdb("b")), []),
    ],
)
def test_two_budgets(given: Any, found: list[tuple[str, str]]) -> None:
    assert codes(about_overlaps(subjects(facts(*given)))) == found


def test_each_pair_is_named_once_at_the_second() -> None:
    found = list(about_overlaps(subjects(facts(pdb("a"), pdb("b"), pdb("c"), pods(2)))))
    assert [one.about.name for one in found] == ["b", "c", "c"]
