"""Which pods budgets cover, and in which unit of them pods are."""

import msgspec

from intact.model.pub import TargetReference
from intact.picture.coverage import Unit, coverage_of_pdb, coverage_of_pub, labelled, owners_above
from intact.picture.definitions import NamespaceDefinitions, Owners
from intact.picture.objects import Objects, OwnerObject
from tests.support.pictures import group_pdb, pdb, pod, pub, with_spec

DEFINITIONS = NamespaceDefinitions()
OWNED = pod("web-0")
OTHER = pod("other", labels={"app": "db"})


def test_a_budget_covers_what_its_selector_selects() -> None:
    for found in (
        coverage_of_pdb(pdb(), DEFINITIONS),
        coverage_of_pub(pub(), Owners(Objects()).above),
    ):
        assert found.covers(OWNED)
        assert not found.covers(OTHER)


def test_a_budget_without_a_selector_covers_nothing() -> None:
    assert not coverage_of_pdb(with_spec(pdb(), selector=None), DEFINITIONS).covers(OWNED)


def test_a_budget_that_cannot_be_read_covers_its_whole_namespace() -> None:
    unread = msgspec.structs.replace(pub(), problems=["spec.selector: expected an object"])
    assert coverage_of_pub(unread, Owners(Objects()).above).covers(OTHER)


def test_a_target_covers_the_pods_below_it_on_every_level() -> None:
    target = TargetReference(api_version="apps/v1", kind="Deployment", name="api")
    budget = pub()
    spec = msgspec.structs.replace(budget.spec, selector=None, target_ref=target)
    reference = pod("p", owner=("Deployment", "api")).metadata.owner_references
    owner = OwnerObject("apps", "ReplicaSet", "llm", "api-1", "uid-api-1", reference)
    owners = Owners(Objects(owners=[owner]))
    found = coverage_of_pub(msgspec.structs.replace(budget, spec=spec), owners.above)
    assert found.covers(pod("p", owner=("ReplicaSet", "api-1")))
    assert not found.covers(OWNED)


def test_without_groups_each_pod_is_a_unit() -> None:
    found = coverage_of_pdb(pdb(), DEFINITIONS)
    assert not found.in_groups
    assert found.unit_of(OWNED) == Unit("uid-web-0", 1)


def test_groups_are_those_of_the_label_with_the_need_of_the_budget() -> None:
    member, without = pod("a", group="shard-0"), pod("b")
    for found in (
        coverage_of_pub(pub(need=3), Owners(Objects()).above),
        coverage_of_pdb(group_pdb(need=3), DEFINITIONS),
    ):
        assert found.in_groups
        assert found.unit_of(member) == Unit("shard-0", 3)
        assert found.unit_of(without) is None


def test_a_group_is_named_although_its_need_is_unknown() -> None:
    lws = "leaderworkerset.sigs.k8s.io"
    member = pod("a", labels={f"{lws}/name": "llm", f"{lws}/group-key": "k"})
    found = coverage_of_pdb(group_pdb(key=None), DEFINITIONS)
    assert found.unit_of(member) is None
    assert found.group_of(member) == "k"
    assert found.group_of(OWNED) is None


def test_batches_say_themselves_how_many_pods_they_need() -> None:
    key = "batch.coordination.workloads.x-k8s.io/pairs"
    sized = {"name": "a", "namespace": "llm", "labels": {key: "3"}}
    told = pod("a", metadata={**sized, "annotations": {"intact.dev/batch-size": "5"}})
    assert labelled(key, None)(told) == Unit("3", 5)
    assert labelled(key, None)(pod("a", labels={key: "3"})) is None
    assert labelled(key, 2)(told) == Unit("3", 2)


def test_owners_in_a_circle_end() -> None:
    [reference] = OWNED.metadata.owner_references
    assert len(list(owners_above(OWNED, lambda _owner: [reference]))) == 10


def test_a_coverage_names_its_budget() -> None:
    assert str(coverage_of_pdb(pdb("b"), DEFINITIONS)) == "PodDisruptionBudget llm/b"
