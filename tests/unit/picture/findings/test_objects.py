"""Findings about the object itself."""

from typing import Any

import pytest

from intact.model.pub import PodUnavailableBudget
from intact.picture.findings.objects import about_object
from tests.support.findings import WORKLOAD, codes, pdb, pods, pub, subject

KEY = {"intact.dev/group-label-key": "shard"}


@pytest.mark.parametrize(
    ("budget", "found"),
    [
        (pdb(maxUnavailable=1), []),
        (pdb(maxUnavailable=-1), [("IB001", "error")]),
        (pdb(maxUnavailable=1, annotations=KEY), [("IB002", "warning")]),
        (pdb(maxUnavailable=1, labels=WORKLOAD, annotations=KEY), []),
        (pub(maxUnavailable=1, annotations=KEY), [("IB002", "warning")]),
        (pub(maxUnavailable=1, minAvailable=1), [("IB003", "warning")]),
        (pub(), [("IB001", "error")]),
        (pdb(maxUnavailable=1, budgetScope="PodGroup"), [("IB005", "warning")]),
        (pdb(maxUnavailable=1, budgetScope="Pod"), []),
    ],
)
def test_what_is_wrong_with_an_object(budget: Any, found: list[tuple[str, str]]) -> None:
    assert codes(about_object(subject(budget, pods(3)))) == found


def test_the_key_without_effect_is_the_place() -> None:
    [found] = about_object(subject(pub(maxUnavailable=1, labels={"intact.dev/gated": "true"})))
    assert found.field == "metadata.labels[intact.dev/gated]"


def test_a_budget_that_cannot_be_read_names_the_field() -> None:
    budget = PodUnavailableBudget(
        metadata=pub().metadata, problems=["spec.maxUnavailable: Expected `int`"]
    )
    [found] = about_object(subject(budget))
    assert (found.code, found.field) == ("IB001", "spec.maxUnavailable")


def test_a_server_that_stores_the_field_knows_it() -> None:
    budget = pdb(maxUnavailable=1, budgetScope="PodGroup")
    assert codes(about_object(subject(budget, live=True))) == []
