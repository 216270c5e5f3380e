"""Budgets of both kinds: one set of numbers, and whether they work."""

import msgspec
import pytest

from intact.budget.enforcement import Enforcement
from intact.model.pdb import PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget
from intact.picture.budgets import BudgetPicture
from tests.support.pictures import ago, group, group_pdb, pdb, picture, pub, with_spec

Budget = PodUnavailableBudget | PodDisruptionBudget


def drawn(budget: Budget, *, intact: bool | None = True) -> BudgetPicture:
    pods = [*group("shard-0"), *group("shard-1", ready=False, since=ago(minutes=3))]
    is_pub = isinstance(budget, PodUnavailableBudget)
    objects = {"pubs": [budget]} if is_pub else {"pdbs": [budget]}
    [found] = picture(*pods, intact=intact, **objects).budgets
    return found


def numbers(found: BudgetPicture) -> tuple[str, int, int, int, int]:
    return found.unit, found.allowed, found.current, found.desired, found.total


COUNTED = {"allowed": 1, "available": 4, "desired": 3, "expected": 4}
KEP = {
    "disruptions_allowed_replicas": 1,
    "current_healthy_replicas": 4,
    "desired_healthy_replicas": 3,
    "expected_replicas": 4,
}


def by_field(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """As an API server of KEP-5682 has counted it."""
    status = msgspec.structs.replace(budget.status, **KEP)
    asked = with_spec(budget, budget_scope="PodGroup")
    return msgspec.structs.replace(asked, status=status)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (drawn(pub(allowed=1, current=4)), ("group", 1, 4, 3, 4)),
        (drawn(pub(need=None, allowed=2, current=5)), ("pod", 2, 5, 3, 4)),
        (drawn(pub(allowed=3, current=5, ledger={"idle": 2})), ("group", 1, 3, 3, 4)),
        (drawn(pub(ledger={"reached": False})), ("pod", 0, 3, 3, 4)),
        (drawn(pdb(allowed=1)), ("pod", 1, 3, 3, 4)),
        (drawn(group_pdb(ledger=COUNTED, allowed=8)), ("group", 1, 4, 3, 4)),
        (drawn(group_pdb(ledger=COUNTED, allowed=8), intact=None), ("group", 1, 4, 3, 4)),
        (drawn(group_pdb(ledger=COUNTED, allowed=8), intact=False), ("pod", 8, 3, 3, 4)),
        (drawn(by_field(pdb()), intact=False), ("group", 1, 4, 3, 4)),
    ],
    ids=[
        "PUB in groups",
        "PUB in pods",
        "PUB with units that are not wanted any more",
        "PUB that holds its pods one by one",
        "PDB in pods",
        "PDB in groups",
        "PDB in groups, Intact unknown",
        "PDB in groups, without Intact",
        "PDB in groups that the API server counts",
    ],
)
def test_numbers_are_in_the_unit_of_the_budget(
    found: BudgetPicture, expected: tuple[str, int, int, int, int]
) -> None:
    assert numbers(found) == expected


def test_people_name_it_by_kind_and_name() -> None:
    assert drawn(pub("llm")).reference == "pub/llm"
    assert drawn(pdb("llm")).reference == "pdb/llm"


def test_units_that_are_down_are_known_with_their_time() -> None:
    [down] = drawn(pub()).down
    assert (down.name, down.since) == ("shard-1", ago(minutes=3))


WITHOUT_WEBHOOK = pub(working=("False", "NotGated", "nobody asks"))


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (drawn(pub()), ""),
        (drawn(pub(), intact=False), "Intact is not installed here: nothing holds this budget"),
        (
            drawn(group_pdb(), intact=False),
            "Intact is not installed here: Kubernetes counts pods, not groups",
        ),
        (drawn(by_field(pdb()), intact=False), ""),
        (drawn(pdb(), intact=False), ""),
        (drawn(pdb(observed=0)), "it was not counted yet for its present spec"),
        (drawn(WITHOUT_WEBHOOK), "nobody asks"),
        (
            drawn(msgspec.structs.replace(pub(), problems=["spec: no object"])),
            "the budget cannot be read: spec: no object",
        ),
    ],
)
def test_what_does_not_work_says_why(found: BudgetPicture, why: str) -> None:
    assert found.not_working == why


def test_it_works_since_its_condition_changed_or_it_was_created() -> None:
    assert drawn(pub()).working_since == ago(hours=2)
    assert drawn(pdb()).working_since == ago(days=1)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (drawn(pub()), ""),
        (drawn(pub(maxUnavailable=0)), "maxUnavailable is 0: no group can ever go"),
        (drawn(pdb()), ""),
        (drawn(pdb(desired=4)), "it requires 4 of 4 pods: none can ever go"),
        (drawn(pdb(desired=1, expected=1)), "it requires 1 of 1 pod: none can ever go"),
        (drawn(group_pdb(ledger={"desired": 4})), "it requires 4 of 4 groups: none can ever go"),
        (
            drawn(with_spec(pdb(expected=0), max_unavailable="0%")),
            "maxUnavailable is 0%: nothing can ever go",
        ),
        (
            drawn(with_spec(pdb(expected=0), max_unavailable=None, min_available="100%")),
            "minAvailable is 100%: nothing can ever go",
        ),
    ],
)
def test_a_budget_that_never_allows_says_why(found: BudgetPicture, why: str) -> None:
    assert found.never.startswith(why)
    assert bool(found.never) == bool(why)


def test_denials_may_not_be_enforced_where_intact_decides() -> None:
    audit = {"intact.dev/enforcement": "Audit"}
    assert drawn(pub(annotations=audit)).enforcement is Enforcement.AUDIT
    assert drawn(group_pdb(settings=audit)).enforcement is Enforcement.AUDIT
    assert drawn(pdb(annotations=audit)).enforcement is Enforcement.ENFORCE


def test_the_unit_of_a_pod_is_found() -> None:
    found = drawn(pub())
    [member, *_] = group("shard-1")
    unit = found.unit_of(member)
    assert unit is not None
    assert unit.name == "shard-1"
