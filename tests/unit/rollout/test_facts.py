"""What is read off the facts of a role."""

from dataclasses import replace

import msgspec
import pytest

from intact.model.pod import Pod, PodCondition, PodStatus
from intact.rollout.facts import RoleFacts
from tests.unit.rollout.scene import NOW, Scene, pod


def prefill() -> RoleFacts:
    """Two replicas of the old revision, in a StatefulSet that its controller has observed."""
    return Scene(2, 1).facts["prefill"]


def test_a_role_without_batches_ends_with_what_it_has_now() -> None:
    assert prefill().size == 2
    assert replace(prefill(), size_in_batches=6).size == 6


@pytest.mark.parametrize(
    ("pods", "observed", "expected"),
    [
        pytest.param((True, True), True, True, id="all ready"),
        pytest.param((True, False), True, False, id="one not ready"),
        pytest.param((True, True), False, False, id="not observed yet"),
    ],
)
def test_a_role_serves_once_its_controller_has_seen_it_and_its_pods_are_ready(
    pods: tuple[bool, ...], observed: bool, expected: bool
) -> None:
    facts = prefill()
    found = [pod("prefill", at, "any", ready=ready) for at, ready in enumerate(pods)]
    live = replace(facts.workloads[0], observed=observed)
    assert replace(facts, pods=found, workloads=[live]).is_serving() is expected


def test_a_role_without_a_workload_does_not_serve() -> None:
    assert not replace(prefill(), desired=0, workloads=[]).is_serving()


@pytest.mark.parametrize(
    ("names", "revision", "observed", "expected"),
    [
        pytest.param(["llm-prefill"], "new", True, True, id="updated"),
        pytest.param(["llm-prefill"], "old", True, False, id="not updated yet"),
        pytest.param(["llm-prefill"], "new", False, False, id="just written"),
        pytest.param(["llm-other"], "new", True, False, id="not there yet"),
    ],
)
def test_others_can_be_spared_once_the_kept_workload_serves_with_the_new_revision(
    names: list[str], revision: str, observed: bool, expected: bool
) -> None:
    facts = replace(prefill(), revision="new")
    found = [pod("prefill", at, revision) for at in range(2)]
    live = replace(facts.workloads[0], observed=observed)
    facts = replace(facts, pods=found, workloads=[live])
    assert facts.can_spare_others(names) is expected


def test_min_ready_seconds_are_waited_for() -> None:
    since = PodCondition(type="Ready", status="True", last_transition_time="2025-12-31T23:59:50Z")
    young: Pod = msgspec.structs.replace(
        pod("prefill", 0, "new"), status=PodStatus(phase="Running", conditions=[since])
    )
    facts = replace(prefill(), pods=[young], now=NOW)
    assert facts.is_ready(young)
    assert facts.until_ready() is None
    slow = replace(facts, role=msgspec.structs.replace(facts.role, min_ready_seconds=30))
    assert not slow.is_ready(young)
    assert slow.until_ready() == 20
