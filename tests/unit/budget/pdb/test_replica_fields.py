"""The counters of KEP-5682 in the status."""

from intact.budget.pdb.pods import is_up_to_date
from intact.budget.pdb.replica_fields import as_pods, replicas_of, with_replicas
from intact.model.pdb import PdbStatus
from intact.operator.pdb.status import status_fields

STATUS = PdbStatus(disruptions_allowed=1, current_healthy=3, desired_healthy=2, expected_pods=4)


def test_a_budget_in_pods_has_the_same_numbers_in_both() -> None:
    assert replicas_of(as_pods(STATUS)) == (1, 3, 2, 4)


def test_a_server_without_the_fields_is_sent_none() -> None:
    assert replicas_of(STATUS) == (None, None, None, None)
    assert not any(name.endswith("Replicas") for name in status_fields(STATUS))


def test_a_server_with_the_fields_is_sent_all_also_zeros() -> None:
    written = status_fields(with_replicas(STATUS, allowed=0, healthy=5, desired=6, expected=7))
    assert {name: number for name, number in written.items() if name.endswith("Replicas")} == {
        "disruptionsAllowedReplicas": 0,
        "currentHealthyReplicas": 5,
        "desiredHealthyReplicas": 6,
        "expectedReplicas": 7,
    }


def test_other_counters_are_something_new_to_say() -> None:
    counted = as_pods(STATUS)
    assert is_up_to_date(counted, counted)
    assert not is_up_to_date(STATUS, counted)
