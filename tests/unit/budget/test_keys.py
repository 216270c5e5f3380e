"""Keys that have no effect are told; keys of other products are not."""

import re
import time
from pathlib import Path

import pytest

from intact.budget import keys
from intact.budget.keys import PDB, PUB, without_effect

SOURCES = Path(keys.__file__).parents[1]


def test_every_key_in_the_sources_is_known() -> None:
    named = set()
    for source in SOURCES.rglob("*.py"):
        named |= set(re.findall(r'^\w+ = "((?:[a-z.]*\.)?(?:intact\.dev|kruise\.io)/[\w-]+)"$',
                                source.read_text(), re.MULTILINE))  # fmt: skip
    finalizers = {"intact.dev/rollout"}
    assert named - finalizers <= keys.KEYS.keys()
    assert "intact.dev/budget-scope" in named


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("intact.dev/enforcement", ""),
        ("kruise.io/pub-protect-operations", ""),
        ("pub.kruise.io/protect-total-replicas", ""),
        ("intact.dev/enforcment", "did you mean intact.dev/enforcement?"),
        ("intact.dev/Enforcement", "did you mean intact.dev/enforcement?"),
        ("intact.io/enforcement", "did you mean intact.dev/enforcement?"),
        ("kruise.io/pub-protect-operation", "did you mean kruise.io/pub-protect-operations?"),
        ("pub.kruise.io/pub-protect-operations", "did you mean kruise.io/pub-protect-operations?"),
        ("pub.kruise.io/protect-operations", "did you mean kruise.io/pub-protect-operations?"),
        ("kruise.io/protect-total-replicas", "did you mean pub.kruise.io/protect-total-replicas?"),
        ("pub.kruise.io/disable-fetch-replicas-from-workload", "unknown to Intact"),
        ("intact.dev/something-else", "unknown to Intact and has no effect"),
        ("intact.dev/budget-scope", "it is a label of PodDisruptionBudgets"),
        ("pub.kruise.io/no-protect", "it is an annotation of Pods"),
        ("kubectl.kubernetes.io/last-applied-configuration", ""),
        ("apps.kruise.io/inplace-update-state", ""),
        ("example.com/enforcement", ""),
        ("meta.helm.sh/release-name", ""),
    ],
)
def test_an_annotation_of_a_pub(key: str, problem: str) -> None:
    found = without_effect(PUB, {}, {key: "x"})
    assert len(found) == bool(problem)
    assert all(problem in text and f"the annotation {key} " in text for text in found), found


@pytest.mark.parametrize(
    ("place", "key", "problem"),
    [
        ("label", "intact.dev/budget-scope", ""),
        ("annotation", "intact.dev/group-label-key", ""),
        ("annotation", "intact.dev/ledger", ""),
        ("annotation", "intact.dev/budget-scope", "it is a label of PodDisruptionBudgets"),
        ("label", "intact.dev/min-ready-replicas", "it is an annotation of"),
        ("label", "intact.dev/budgetscope", "did you mean intact.dev/budget-scope?"),
        ("annotation", "intact.dev/min-ready-replica", "did you mean intact.dev/min-ready-rep"),
        ("annotation", "pub.kruise.io/protect-total-replicas", "of PodUnavailableBudgets"),
        ("label", "app.kubernetes.io/name", ""),
    ],
)
def test_a_key_of_a_pdb(place: str, key: str, problem: str) -> None:
    given = {key: "x"}
    found = without_effect(PDB, *((given, {}) if place == "label" else ({}, given)))
    assert len(found) == bool(problem)
    assert all(problem in text and f"the {place} {key} " in text for text in found), found


def test_very_many_keys_take_no_longer_than_some_hundreds() -> None:
    many = {f"example.com/some-label-{number}": "x" for number in range(100_000)}
    own = "intact.dev/enforcment"
    begun = time.process_time()
    [found] = without_effect(PUB, many, {own: "x"})
    assert own in found
    assert time.process_time() - begun < 2


def test_a_key_that_no_api_server_stores_is_not_looked_at() -> None:
    assert without_effect(PUB, {}, {"intact.dev/" + "x" * 1_000_000: "x"}) == []
