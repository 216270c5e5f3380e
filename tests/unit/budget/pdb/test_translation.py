"""Manifests for a server of KEP-5682 and for a stock one, from one to the other and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pdb.annotations import COUNTERS
from intact.budget.pdb.translation import Json, NotTranslated, notes, to_kep, to_stock

SCOPE, REPLICAS = "intact.dev/budget-scope", "intact.dev/replicas"


def budget(**parts: Any) -> Json:
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **parts}


def test_the_scope_becomes_a_label_and_the_counters_an_annotation() -> None:
    counters = dict(zip(COUNTERS, (1, 3, 2, 4), strict=True))
    kep = budget(
        metadata={"name": "b"},
        spec={"minAvailable": 9, "budgetScope": "Workload"},
        status={"currentHealthy": 50, **counters},
    )
    stock = budget(
        metadata={
            "name": "b",
            "labels": {SCOPE: "Workload"},
            "annotations": {
                REPLICAS: '{"disruptionsAllowedReplicas":1,"currentHealthyReplicas":3,'
                '"desiredHealthyReplicas":2,"expectedReplicas":4}'
            },
        },
        spec={"minAvailable": 9},
        status={"currentHealthy": 50},
    )
    assert to_stock(kep) == stock
    assert to_kep(stock) == kep
    assert kep["spec"]["budgetScope"] == "Workload"  # what was given stays as it was


_KEYS = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=8)
_LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_ANY = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3)
)
_FILLED = st.dictionaries(_KEYS, st.text(max_size=8), min_size=1, max_size=3)
_SCOPES = st.sampled_from(["Pod", "Workload", "PodGroup"])


@st.composite
def kep_budgets(draw: st.DrawFn) -> Json:
    meta: Json = {"name": draw(_KEYS)}
    for field in ("labels", "annotations"):
        if draw(st.booleans()):
            meta[field] = draw(_FILLED)
    spec: Json = {"minAvailable": draw(st.integers(0, 9)), "x": draw(_ANY)}
    if draw(st.booleans()):
        spec["budgetScope"] = draw(_SCOPES)
    found = budget(metadata=meta, spec=spec)
    if draw(st.booleans()):
        names = draw(st.lists(st.sampled_from(COUNTERS), unique=True))
        status = {name: draw(st.integers(0, 99)) for name in COUNTERS if name in names}
        found["status"] = {"expectedPods": 1, **status} if draw(st.booleans()) else status
        if not found["status"]:
            del found["status"]
    return found


_OTHERS = st.fixed_dictionaries({"kind": st.sampled_from(["Pod", "Job"]), "spec": _ANY})
_OBJECTS = kep_budgets() | _OTHERS
_DOCUMENTS = _OBJECTS | st.fixed_dictionaries(
    {"kind": st.just("List"), "items": st.lists(_OBJECTS, max_size=3)}
)


@given(_DOCUMENTS)
def test_a_round_trip_is_the_identity(document: Json) -> None:
    stock = to_stock(document)
    assert to_kep(stock) == document
    assert to_stock(to_kep(stock)) == stock
    assert to_stock(stock) == stock
    assert to_kep(document) == document
    text = str(stock)
    assert "'budgetScope'" not in text
    assert not any(f"'{name}'" in text for name in COUNTERS)


def test_items_of_lists_are_translated_and_other_objects_stay() -> None:
    other = {"kind": "PodDisruptionBudget", "apiVersion": "example.com/v1", "spec": {}}
    kept = {**other, "spec": {"budgetScope": "Workload"}}
    inner = budget(metadata={"name": "b"}, spec={"x": 1, "budgetScope": "Pod"})
    found = to_stock({"kind": "PodDisruptionBudgetList", "items": [kept, inner, "odd"]})
    assert found["items"][0] is kept
    assert found["items"][1]["metadata"]["labels"] == {SCOPE: "Pod"}
    assert found["items"][2] == "odd"


META: Json = {"name": "b"}
WRONG = {
    "a word that is none": (
        to_stock,
        budget(metadata=META, spec={"budgetScope": "Group"}),
        "spec.budgetScope: Invalid value: \"Group\": 'Group' is not one of Workload, PodGroup, Pod",
    ),
    "no word": (
        to_stock,
        budget(metadata=META, spec={"budgetScope": 3}),
        'spec.budgetScope: Invalid value: "3": 3 is not one of Workload, PodGroup, Pod',
    ),
    "in a list": (
        to_stock,
        {"kind": "List", "items": [{}, budget(spec={"budgetScope": "x"})]},
        'items[1].spec.budgetScope: Invalid value: "x": ',
    ),
    "label and field disagree": (
        to_stock,
        budget(metadata={"labels": {SCOPE: "Pod"}}, spec={"budgetScope": "Workload"}),
        f"metadata.labels[{SCOPE}]: Invalid value: \"Pod\": spec.budgetScope says 'Workload'",
    ),
    "a label that is none": (
        to_kep,
        budget(metadata={"labels": {SCOPE: ""}}),
        f'metadata.labels[{SCOPE}]: Invalid value: "": ',
    ),
    "field and label disagree": (
        to_kep,
        budget(metadata={"labels": {SCOPE: "Pod"}}, spec={"budgetScope": "Workload"}),
        f"spec.budgetScope: Invalid value: \"Workload\": metadata.labels[{SCOPE}] says 'Pod'",
    ),
    "a counter that is no number": (
        to_stock,
        budget(status={"expectedReplicas": "many"}),
        'status.expectedReplicas: Invalid value: "many": ',
    ),
    "counters that cannot be read": (
        to_kep,
        budget(metadata={"annotations": {REPLICAS: "{"}}),
        f'metadata.annotations[{REPLICAS}]: Invalid value: "{{": ',
    ),
    "another counter": (
        to_kep,
        budget(metadata={"annotations": {REPLICAS: '{"pods":1}'}}),
        f"metadata.annotations[{REPLICAS}]: ",
    ),
    "labels that are no map": (
        to_kep,
        budget(metadata={"labels": ["a"]}),
        "metadata.labels: Invalid value: \"['a']\": ",
    ),
    "a spec that is no map": (to_stock, budget(spec="x"), 'spec: Invalid value: "x": '),
}


@pytest.mark.parametrize(("translate", "document", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_translated_is_named(translate: Any, document: Json, said: str) -> None:
    with pytest.raises(NotTranslated) as problem:
        translate(document)
    assert str(problem.value).startswith(said)


def test_what_the_other_server_does_not_take_is_noted() -> None:
    keyed = {"intact.dev/group-label-key": "shard"}
    labelled = budget(metadata={"labels": {SCOPE: "Workload"}, "annotations": keyed})
    assert list(notes({"kind": "List", "items": [labelled]}, "kep")) == [
        "the annotation intact.dev/group-label-key has no effect beside spec.budgetScope"
    ]
    assert list(notes(labelled, "stock")) == []
    containers: Json = {"containers": [], "workload": {"name": "w"}}
    job = {"kind": "Job", "spec": {"template": {"spec": containers}}}
    [told] = notes(job, "stock")
    assert "spec.schedulingGroup.podGroupName" in told
    old = {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload"}
    [told] = notes(old, "stock")
    assert told.startswith("scheduling.k8s.io/v1alpha1 Workload: Kubernetes 1.36 serves Workloads")
    new = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    assert list(notes(new, "stock")) == []
