"""A role on a StatefulSet: which pods go, and where the partition stands."""

from dataclasses import replace

import pytest

from intact.rollout.orders import RolloutStep
from intact.rollout.statefulset import ordinals
from tests.unit.rollout.scene import Scene, pod


def evicted(step: RolloutStep) -> list[str]:
    return [one.pod.metadata.name for one in step.evict]


def partitions(step: RolloutStep) -> dict[str, int | None]:
    return {name: orders[0].partition for name, orders in step.orders.items()}


def test_a_new_template_is_written_with_a_partition_that_holds_everything() -> None:
    scene = Scene()
    for name in scene.sizes:
        scene.live(name, revision=scene.old(name), partition=0)
    step = scene.step()
    assert partitions(step) == {"prefill": 10, "decode": 5}
    assert step.evict == []


def test_pods_are_evicted_while_the_partition_still_holds() -> None:
    step = Scene().step()
    assert evicted(step) == ["llm-prefill-9", "llm-prefill-8", "llm-decode-4"]
    assert partitions(step) == {"prefill": 10, "decode": 5}


def test_the_partition_follows_once_no_old_pod_stands_above_it() -> None:
    scene = Scene()
    scene.put("prefill", pod("prefill", 9, scene.old("prefill"), going=True, held=True))
    step = scene.step()
    assert partitions(step)["prefill"] == 9
    assert evicted(step) == ["llm-prefill-8", "llm-decode-4"]


def test_what_is_coming_is_reserved() -> None:
    scene = Scene()
    scene.live("prefill", partition=8)
    scene.take("prefill", 8, 9)
    step = scene.step()
    assert partitions(step)["prefill"] == 8
    assert evicted(step) == ["llm-decode-4"]
    assert step.progress["prefill"].waiting_for == (
        "prefill: 2 started and not ready yet; llm-prefill-8, llm-prefill-9: not created yet"
    )


def test_a_drained_old_pod_below_the_partition_comes_back_old() -> None:
    scene = Scene()
    scene.put("prefill", pod("prefill", 3, scene.old("prefill"), going=True))
    step = scene.step()
    assert partitions(step)["prefill"] == 10
    assert evicted(step) == ["llm-prefill-9", "llm-decode-4"]


def test_old_pods_that_a_foreign_partition_lets_go_are_held_again() -> None:
    scene = Scene()
    scene.live("prefill", partition=0)
    step = scene.step()
    assert partitions(step)["prefill"] == 10
    assert "llm-prefill-9" not in evicted(step)


def test_a_scale_up_makes_only_as_many_new_ones_as_the_plan_lets() -> None:
    scene = Scene()
    scene.facts["prefill"] = replace(scene.facts["prefill"], desired=20)
    step = scene.step()
    [order] = step.orders["prefill"]
    assert (order.replicas, order.partition) == (20, 16)


def test_a_set_with_one_revision_makes_all_of_it() -> None:
    scene = Scene()
    for name, number in scene.sizes.items():
        scene.live(name, partition=0, settled=True)
        scene.put(name, *(pod(name, at, scene.new(name)) for at in range(number)))
    scene.facts["prefill"] = replace(scene.facts["prefill"], desired=20)
    step = scene.step()
    assert partitions(step) == {"prefill": 0, "decode": 0}
    assert step.progress["prefill"].state == "Updating"
    assert step.progress["decode"].state == "Completed"


def test_pods_of_another_owner_and_pods_without_an_ordinal_are_not_in_its_places() -> None:
    scene = Scene(2, 2)
    stranger = pod("prefill", "x", scene.old("prefill"))
    copied = pod("decode", 1, scene.old("prefill"))
    scene.facts["prefill"] = replace(scene.facts["prefill"], pods=[stranger, copied])
    assert ordinals(scene.facts["prefill"]).pods == {}


@pytest.mark.parametrize(
    ("going", "held", "expected"), [(True, True, True), (True, False, False), (False, False, False)]
)
def test_an_old_pod_counts_as_started_once_it_is_held_and_going(
    going: bool, held: bool, expected: bool
) -> None:
    scene = Scene(1, 1)
    scene.put("prefill", pod("prefill", 0, scene.old("prefill"), going=going, held=held))
    [place] = ordinals(scene.facts["prefill"]).role.replicas
    assert place.new is expected
