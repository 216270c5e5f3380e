"""Which replicas of a role are not ready, in words."""

from dataclasses import replace

import msgspec

from intact.model.pod import RolePod, RolePodCondition, RolePodStatus
from intact.rollout.unready import unready
from tests.support.rbg_objects import kind
from tests.unit.rollout.scene import NOW, Scene, pod


def pending(role: str, index: int, message: str) -> RolePod:
    condition = RolePodCondition(
        type="PodScheduled", status="False", reason="Unschedulable", message=message
    )
    status = RolePodStatus(phase="Pending", conditions=[condition])
    made: RolePod = msgspec.structs.replace(pod(role, index, "old"), status=status)
    return made


def test_a_role_whose_pods_are_ready_has_nothing_to_say() -> None:
    assert unready(Scene(4, 1).facts["prefill"]) == ""


def test_pods_with_one_cause_are_named_together_and_what_needs_attention_comes_first() -> None:
    scene = Scene(12, 1)
    scene.put("prefill", *(pod("prefill", at, "old", ready=False) for at in (2, 3, 4, 5, 10)))
    scene.put("prefill", pending("prefill", 9, "0/4 nodes"))
    assert unready(scene.facts["prefill"]) == (
        "llm-prefill-9: Unschedulable: 0/4 nodes; "
        "llm-prefill-2, llm-prefill-3, llm-prefill-4 and 2 more: not ready"
    )


def test_only_so_many_causes_are_named() -> None:
    scene = Scene(8, 1)
    scene.put("prefill", *(pending("prefill", at, f"cause {at}") for at in range(5)))
    text = unready(scene.facts["prefill"])
    assert text.count("Unschedulable") == 3
    assert text.endswith("and 2 more")


def test_a_pod_that_does_not_go_holds_its_place() -> None:
    scene = Scene(3, 1)
    scene.put("prefill", pod("prefill", 2, "old", going=True, held=True))
    scene.put("prefill", pod("prefill", 3, "old", going=True, held=True))
    assert unready(scene.facts["prefill"]) == (
        "llm-prefill-2: is being deleted and waits for the finalizer intact.dev/rollout"
    ), "the other one is scaled away"


def test_a_pod_that_is_not_there_is_named() -> None:
    scene = Scene(3, 1)
    scene.take("prefill", 1)
    assert unready(scene.facts["prefill"]) == "llm-prefill-1: not created yet"


def test_a_deployment_says_why_it_creates_no_pod() -> None:
    scene = Scene(3, 1, deployment=True)
    scene.live("prefill", failure="FailedCreate: exceeded quota: pods")
    scene.take("prefill", 1)
    scene.put("prefill", pod("prefill", 5, "old", going=True))
    assert unready(scene.facts["prefill"]) == (
        "Deployment llm-prefill: FailedCreate: exceeded quota: pods; "
        "1 of 3 replicas: not created yet"
    ), "a ReplicaSet replaces a pod that goes at once"


def test_a_pod_that_is_not_ready_for_long_enough_is_named() -> None:
    scene = Scene(1, 1)
    role = msgspec.structs.replace(scene.facts["prefill"].role, min_ready_seconds=30)
    condition = RolePodCondition(
        type="Ready", status="True", last_transition_time="2025-12-31T23:59:50Z"
    )
    young: RolePod = msgspec.structs.replace(
        pod("prefill", 0, "old"), status=RolePodStatus(phase="Running", conditions=[condition])
    )
    facts = replace(scene.facts["prefill"], role=role, pods=[young], now=NOW)
    assert unready(facts) == ""
    assert unready(facts, facts.is_ready) == (
        "llm-prefill-0: ready, but not for 30 s (minReadySeconds) yet"
    )


def test_replicas_of_a_leader_worker_set_that_are_missing_are_counted() -> None:
    scene = Scene(3, 1)
    found = msgspec.convert(
        {"name": "prefill", **kind("LeaderWorkerSet")}, type(scene.role("decode"))
    )
    facts = replace(scene.facts["prefill"], role=found, pods=[])
    assert unready(facts) == "3 of 3 replicas: not created yet"
