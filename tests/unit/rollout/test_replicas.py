"""Replicas of a role, counted from pods."""

import msgspec
import pytest

from intact.model.pod import Pod
from intact.model.rbg import Role
from intact.rollout.replicas import (
    GROUP_INDEX,
    POD_INDEX,
    number_in_name,
    ordinal_of,
    ready_for,
    replica_index,
    replicas,
)
from tests.support.rbg_objects import kind, role
from tests.unit.rollout.scene import NOW, pod

SETS = msgspec.convert(role("decode", leaderWorkerSet={"size": 2}, **kind("LeaderWorkerSet")), Role)
PODS = msgspec.convert(role("prefill"), Role)


def test_a_pod_is_a_replica_until_it_is_terminating() -> None:
    found = replicas(PODS, [pod("prefill", 0, "a"), pod("prefill", 1, "a", going=True)])
    assert [(one.revision, one.ready) for one in found] == [("a", True)]


def test_a_replica_of_a_leader_worker_set_is_ready_when_all_its_pods_are() -> None:
    def one(index: int, worker: int, revision: str = "a", *, ready: bool = True) -> Pod:
        labels = {GROUP_INDEX: str(index)}
        return pod("decode", f"{index}-{worker}", revision, ready=ready, labels=labels)

    found = replicas(
        SETS, [one(0, 0), one(0, 1), one(1, 0), one(1, 1, ready=False), one(2, 0), one(2, 1, "b")]
    )
    assert [(len(each.pods), each.revision, each.ready) for each in found] == [
        (2, "a", True),
        (2, "a", False),
        (2, "", True),
    ]


def test_a_replica_that_lacks_a_pod_is_not_ready() -> None:
    [found] = replicas(SETS, [pod("decode", "0-0", "a", labels={GROUP_INDEX: "0"})])
    assert not found.ready


def test_a_pod_that_is_not_ready_has_been_so_for_no_time() -> None:
    assert ready_for(pod("prefill", 0, "a", ready=False), NOW) < 0
    assert ready_for(pod("prefill", 0, "a"), NOW) == float("inf"), "it does not say since when"


@pytest.mark.parametrize(
    ("labels", "name", "expected"),
    [
        pytest.param({POD_INDEX: "3"}, "llm-prefill-7", 3, id="label of a StatefulSet"),
        pytest.param({}, "llm-prefill-7", 7, id="name"),
        pytest.param({GROUP_INDEX: "2", POD_INDEX: "1"}, "llm-2-1", 1, id="another kind's label"),
        pytest.param({POD_INDEX: "x"}, "llm-prefill-7", None, id="no number"),
        pytest.param({}, "llm-prefill", None, id="no ordinal"),
        pytest.param({}, "llm-²", None, id="a digit that is no number"),
    ],
)
def test_ordinals(labels: dict[str, str], name: str, expected: int | None) -> None:
    assert ordinal_of(labels, name) == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [({GROUP_INDEX: "2", POD_INDEX: "1"}, 2), ({POD_INDEX: "1"}, 1), ({}, 7)],
)
def test_the_replica_of_a_leader_worker_set_is_known_by_its_own_label(
    labels: dict[str, str], expected: int
) -> None:
    assert replica_index(labels, "llm-7") == expected


def test_the_number_in_a_name() -> None:
    assert number_in_name("llm-prefill-10") == 10
    assert number_in_name("llm-router-7f9c-x2k") is None
