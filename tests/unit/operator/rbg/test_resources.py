"""The kinds of objects that a RoleBasedGroup owns."""

from intact.model.rbg import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET
from intact.operator.rbg.resources import OWNED, WORKLOADS


def test_every_kind_of_workload_that_a_role_may_have_is_a_resource() -> None:
    found = {(one.api_version, kind) for kind, one in WORKLOADS.items()}
    assert found == {STATEFUL_SET, DEPLOYMENT, LEADER_WORKER_SET}


def test_owned_kinds_are_namespaced_and_named_once() -> None:
    names = [one.full_name for one in OWNED]
    assert len(set(names)) == len(names) == 7
    assert all(one.namespaced for one in OWNED)
