"""The next step of a coordinated rollout, in what all kinds of workloads have in common."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import msgspec
import pytest

from intact.model.pod import PodCondition, PodStatus
from intact.model.rbg import CoordinationState, RbgStatus, RoleStatus
from intact.rollout.names import REVISION
from intact.rollout.orders import RolloutStep
from intact.rollout.plan import Rules
from intact.rollout.revisions import group_hash
from intact.rollout.rolling_update import rules_of
from tests.unit.rollout.scene import Scene, pod


def evicted(step: RolloutStep) -> list[str]:
    return [one.pod.metadata.name for one in step.evict]


def test_a_role_that_is_not_there_yet_holds_up_no_other() -> None:
    scene = Scene()
    scene.facts["decode"] = replace(scene.facts["decode"], pods=[], workloads=[])
    step = scene.step()
    assert evicted(step) == ["llm-prefill-9", "llm-prefill-8"]
    [order] = step.orders["decode"]
    assert (order.name, order.replicas, order.partition) == ("llm-decode", 5, 0)
    assert "decode" not in step.progress


def test_the_way_back_is_named_and_goes_from_the_top() -> None:
    scene = Scene()
    old, new = scene.old("prefill"), scene.new("prefill")
    scene.facts["prefill"] = replace(scene.facts["prefill"], revision=old)
    scene.facts["decode"] = replace(scene.facts["decode"], revision=scene.old("decode"))
    scene.live("prefill", revision=old, settled=True)
    scene.live("decode", revision=scene.old("decode"), settled=True)
    scene.put("prefill", pod("prefill", 9, new), pod("prefill", 8, new))
    scene.put("decode", pod("decode", 4, scene.new("decode"), ready=False))
    step = scene.step()
    assert evicted(step) == ["llm-prefill-9", "llm-prefill-8", "llm-decode-4"]
    assert {one.state for one in step.progress.values()} == {"RollingBack"}


def test_paused_moves_nothing() -> None:
    step = Scene(paused=True).step()
    assert step.evict == []
    assert {one.state for one in step.progress.values()} == {"Paused"}


def test_no_progress_for_the_deadline_is_a_stall_of_the_role_that_fails() -> None:
    scene = Scene(progressDeadlineSeconds=60)
    scene.put("prefill", *(pod("prefill", at, scene.new("prefill")) for at in (8, 9)))
    scene.put("decode", pod("decode", 4, scene.new("decode"), ready=False))
    scene.live("prefill", partition=8)
    scene.live("decode", partition=4)
    assert scene.step().again_in == 60
    scene.later(59)
    assert scene.step().progress["decode"].state == "Updating"
    scene.later(1)
    step = scene.step()
    assert step.progress["decode"].state == "Stalled"
    assert step.progress["prefill"].state == "Waiting"
    assert step.progress["prefill"].since == "2026-01-01T00:00:00Z"
    [(kind, reason, message)] = step.events
    assert (kind, reason) == ("Warning", "RolloutStalled")
    assert (
        "decode 0/5 Stalled (decode: 1 started and not ready yet; llm-decode-4: not ready)"
        in message
    )
    assert step.rollback_to == ""


@pytest.mark.parametrize(("current", "expected"), [("llm-1", "llm-1"), ("llm-2", ""), ("", "")])
def test_a_stall_goes_back_where_asked_and_where_there_is_a_way(
    current: str, expected: str
) -> None:
    scene = Scene(progressDeadlineSeconds=60, onFailure="Rollback")
    status = msgspec.structs.replace(
        scene.group.status, current_revision=current, update_revision="llm-2"
    )
    scene.group = msgspec.structs.replace(scene.group, status=status)
    scene.put("decode", pod("decode", 4, scene.new("decode"), ready=False))
    scene.step()
    scene.later(60)
    assert scene.step().rollback_to == expected


def test_every_template_has_the_whole_deadline() -> None:
    """Also one that comes when the one before it has not moved anything for most of that time."""
    scene = Scene(progressDeadlineSeconds=60, onFailure="Rollback")
    statuses = [RoleStatus(name=name, revision=scene.old(name)) for name in scene.sizes]
    status: RbgStatus = msgspec.structs.replace(
        scene.group.status,
        current_revision="llm-1",
        update_revision="llm-0",
        role_statuses=statuses,
        coordination_state=[CoordinationState(name="together", progress=scene.step().progress)],
    )
    scene.group = msgspec.structs.replace(scene.group, status=status)
    scene.later(60)
    step = scene.step()
    assert {one.state for one in step.progress.values()} == {"Updating"}
    assert step.rollback_to == ""


def test_routers_read_the_new_revision_on_updated_pods_alone() -> None:
    scene = Scene()
    scene.put("prefill", pod("prefill", 9, scene.new("prefill")))
    labels = dict(scene.step().relabel)
    new, old = (
        group_hash({name: made(name) for name in scene.sizes}) for made in (scene.new, scene.old)
    )
    assert labels.pop("llm-prefill-9") == new
    assert set(labels.values()) == {old}
    assert len(labels) == 14


def test_a_role_that_has_not_changed_takes_the_label_in_step() -> None:
    scene = Scene()
    scene.unchanged = ("decode",)
    scene.live("decode", settled=True, partition=0)
    old = group_hash({"prefill": scene.old("prefill"), "decode": scene.new("decode")})
    before = {REVISION: old}
    olds = [pod("prefill", at, scene.old("prefill"), labels=before) for at in range(8)]
    news = [pod("prefill", at, scene.new("prefill")) for at in (8, 9)]
    scene.put("prefill", *olds, *news)
    scene.put("decode", *(pod("decode", at, scene.new("decode"), labels=before) for at in range(5)))
    labels = scene.step().relabel
    assert labels.keys() == {"llm-prefill-8", "llm-prefill-9", "llm-decode-4"}
    assert len(set(labels.values())) == 1
    # One that restarts without Intact does not get ahead of the others.
    scene.put("decode", pod("decode", 0, scene.new("decode")))
    labels = scene.step().relabel
    assert labels["llm-decode-0"] == old


@pytest.mark.parametrize("nothing", [0, "0", "0%"])
def test_a_ratio_of_nothing_is_not_none_at_all(nothing: int | str) -> None:
    scene = Scene(strategy={"rollingUpdate": {"maxSkew": nothing, "maxUnavailable": "100%"}})
    assert rules_of(scene.group, scene.group.spec.coordination[0]) == Rules(
        max_skew=Fraction(0), max_unavailable=Fraction(1), partition=Fraction(0)
    )


def test_a_pod_counts_when_it_has_been_ready_for_long_enough() -> None:
    scene = Scene(2, 2, strategy={"maxSkew": "100%", "maxUnavailableRatio": "50%"})
    ready = PodCondition(type="Ready", status="True", last_transition_time="2026-01-01T00:00:00Z")
    for name, facts in scene.facts.items():
        young = msgspec.structs.replace(
            pod(name, 1, scene.new(name)), status=PodStatus(phase="Running", conditions=[ready])
        )
        role = msgspec.structs.replace(facts.role, min_ready_seconds=30)
        scene.live(name, partition=1)
        scene.facts[name] = replace(scene.facts[name], role=role, pods=[facts.pods[0], young])

    def after(seconds: int) -> RolloutStep:
        for name, facts in scene.facts.items():
            scene.facts[name] = replace(facts, now=scene.now + timedelta(seconds=seconds))
        return scene.step()

    early = after(10)
    assert evicted(early) == []
    assert early.progress["prefill"].ready == 0
    assert early.again_in == 20
    assert evicted(after(30)) == ["llm-prefill-0", "llm-decode-0"]


def test_a_canary_goes_back_whole_whatever_the_partition() -> None:
    strategy = {"maxSkew": "20%", "maxUnavailableRatio": "20%", "partition": "80%"}
    scene = Scene(strategy=strategy)
    canary = {"prefill": [9, 8], "decode": [4]}
    for name, indexes in canary.items():
        # The first revision is asked for again; the canary has the second.
        scene.put(name, *(pod(name, at, "canary") for at in indexes))
        back = scene.role(name, "engine:1")
        [live] = scene.facts[name].workloads
        live = replace(live, revision=scene.old(name), partition=scene.sizes[name])
        scene.facts[name] = replace(
            scene.facts[name], role=back, revision=scene.old(name), workloads=[live]
        )
    assert evicted(scene.step()) == [], "not known to have been completed"
    status = msgspec.structs.replace(scene.group.status, current_revision="llm-1")
    scene.group = msgspec.structs.replace(scene.group, status=status)
    assert evicted(scene.step()) == ["llm-prefill-9", "llm-prefill-8", "llm-decode-4"]
