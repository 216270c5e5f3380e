"""Evicted pods are remembered until their Deployment is lowered by them, or, those of StatefulSets,
until the store has seen them going."""

import pytest

from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.rollout.orders import Eviction
from intact.rollout.statefulset import is_held
from tests.unit.rollout.scene import NOW, pod


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


HERE, OTHER = pod("prefill", 1, "old"), pod("prefill", 1, "new")
GOING = pod("prefill", 1, "old", going=True)


def test_an_evicted_pod_counts_as_going_and_held() -> None:
    evicted = EvictedPods()
    evicted.hold(Eviction(HERE, "prefill"))
    first, second = evicted.as_evicted([HERE, OTHER], NOW)
    assert (is_terminating(first), is_held(first)) == (True, True)
    assert second is OTHER


@pytest.mark.parametrize(
    ("new", "remembered"),
    [
        pytest.param(HERE, True, id="changed"),
        pytest.param(GOING, False, id="going"),
        pytest.param(OTHER, False, id="another of its name"),
        pytest.param(None, False, id="gone"),
    ],
)
def test_an_evicted_pod_is_remembered_until_the_store_has_seen_it_going(
    new: Pod | None, remembered: bool
) -> None:
    evicted = EvictedPods()
    evicted.hold(Eviction(HERE, "prefill"))
    evicted.seen(HERE, new)
    assert bool(evicted.unanswered([HERE])) is remembered
    assert (evicted.as_evicted([HERE], NOW) != [HERE]) is remembered


def test_an_eviction_without_an_answer_is_to_be_sent_again() -> None:
    evicted = EvictedPods()
    eviction = Eviction(HERE, "prefill")
    evicted.hold(eviction)
    assert evicted.unanswered([HERE, OTHER]) == [eviction]
    evicted.answered(HERE.metadata.uid)
    assert evicted.unanswered([HERE]) == []
    assert evicted.as_evicted([HERE], NOW) != [HERE]


def test_a_new_leader_remembers_no_evicted_pod() -> None:
    evicted = EvictedPods()
    evicted.hold(Eviction(HERE, "prefill"))
    evicted.forget_all()
    assert evicted.as_evicted([HERE], NOW) == [HERE]
