"""Evicted pods are remembered until their Deployment is lowered by them."""

from intact.operator.rbg.evicted_pods import EvictedPods


def test_what_a_deployment_was_lowered_by_is_forgotten() -> None:
    evicted = EvictedPods()
    assert evicted.add("uid", "a")
    assert not evicted.add("uid", "a")
    evicted.add("other", "b")
    evicted.forget("uid")
    assert evicted.by_deployment == {"other": {"b"}}
    evicted.forget_all()
    assert evicted.by_deployment == {}


def test_what_was_read_stays_as_it_was() -> None:
    evicted = EvictedPods()
    evicted.add("uid", "a")
    read = evicted.by_deployment
    evicted.add("uid", "b")
    evicted.discard("uid", "a")
    assert read == {"uid": {"a"}}
    assert evicted.by_deployment == {"uid": {"b"}}


def test_a_pod_of_a_deployment_that_is_gone_is_not_missed() -> None:
    evicted = EvictedPods()
    evicted.discard("gone", "a")
    assert evicted.by_deployment == {}
