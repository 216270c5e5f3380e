"""Rules of the controller of RoleBasedGroups, each broken on purpose: the simulation must notice
every one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from intact.kube.reflector import Reflector
from intact.operator.rbg import server_side_apply
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.pods.evictions import RbgEvictions
from intact.operator.rbg.pods.pod_labels import PodLabels
from intact.operator.rbg.server_side_apply import Applier
from intact.rollout import plan, statefulset
from intact.rollout.facts import RoleFacts
from intact.rollout.orders import Eviction, WorkloadOrder
from tests.simulation.rbg.course import GROUP, Course, coordination, course
from tests.simulation.rbg.truth import Violation
from tests.simulation.scenario import CALM, Weather
from tests.simulation.simulate import Stuck
from tests.support.rbg_objects import group, kind, role

Break = Callable[[pytest.MonkeyPatch], None]


def rollouts(seed: int) -> Course:
    """One rollout after the other of two coordinated roles, and only that."""
    roles = [
        role("prefill", 6, **kind("StatefulSet")),
        role("decode", 6, **kind("Deployment")),
    ]
    rules = coordination(["prefill", "decode"], {"maxUnavailableRatio": "34%"})
    return replace(
        course(seed),
        body=group(GROUP, *roles, coordination=[rules]),
        weather=CALM,
        operators=1,
        edits=4,
        pause=5,
        kills=None,
        failures=False,
        meddling=False,
        bad_images=False,
        only_templates=True,
        slowest_start=2,
    )


def behind(seed: int) -> Course:
    """The same, with watches that are far behind."""
    return replace(rollouts(seed), weather=Weather(lags=(0.02, 2), pod_lags=(4,)), pause=1.5)


def taken_over(seed: int) -> Course:
    """The same, with leaders that die, and followers that are even further behind."""
    weather = Weather(lags=(1,), pod_lags=(30,))
    return replace(rollouts(seed), weather=weather, kills=12, operators=3, pause=10)


def uncoordinated(seed: int) -> Course:
    """Coordinations and other rules come and go."""
    made = rollouts(seed)
    return replace(made, edits=10, only_templates=False)


def meddled(seed: int) -> Course:
    """Others overwrite labels, and more."""
    return replace(rollouts(seed), meddling=True, pause=12)


@dataclass(frozen=True, slots=True)
class Rule:
    broken: Break
    make: Callable[[int], Course] = rollouts
    """The courses in which the rule matters most."""
    shows: type[AssertionError] = Violation
    """As what a run fails."""


def _any_number_may_go(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "most_unavailable", lambda _ratio, replicas: replicas)


def _stateful_sets_update_themselves(patch: pytest.MonkeyPatch) -> None:
    """A template is written without a partition that holds the pods."""
    order = statefulset.order

    def unheld(*args: Any) -> tuple[WorkloadOrder, list[Eviction]]:
        made, evictions = order(*args)
        return replace(made, partition=0), evictions

    patch.setattr(statefulset, "order", unheld)


def _evicted_pods_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EvictedPods, "hold", lambda *_: None)


def _own_writes_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Workloads count as the store has them, not as they were last written."""
    patch.setattr(Applier, "newest", lambda _self, _resource, live, *_: live)


def _a_new_leader_trusts_its_store(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reflector, "list_again", lambda _self: None)


def _every_other_workload_can_be_spared(patch: pytest.MonkeyPatch) -> None:
    """What has no order is deleted, whether its successor serves or not."""
    patch.setattr(RoleFacts, "can_spare_others", lambda *_: True)


def _no_pod_is_let_go(patch: pytest.MonkeyPatch) -> None:
    async def keep(*_: Any) -> None: ...

    patch.setattr(RbgEvictions, "let_go", keep)


def _labels_of_pods_are_not_restored(patch: pytest.MonkeyPatch) -> None:
    async def leave(*_: Any) -> list[Any]:
        return []

    patch.setattr(PodLabels, "put_right", leave)


def _everything_is_written_always(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(server_side_apply, "_is_as_left", lambda *_: False)


BROKEN: dict[str, Rule] = {
    "any number may go": Rule(_any_number_may_go),
    "stateful sets update themselves": Rule(_stateful_sets_update_themselves),
    "evicted pods are not remembered": Rule(_evicted_pods_are_not_remembered, behind),
    "own writes are forgotten": Rule(_own_writes_are_forgotten, behind),
    "a new leader trusts its store": Rule(_a_new_leader_trusts_its_store, taken_over),
    "every other workload can be spared": Rule(_every_other_workload_can_be_spared, uncoordinated),
    "no pod is let go": Rule(_no_pod_is_let_go, shows=Stuck),
    "labels of pods are not restored": Rule(_labels_of_pods_are_not_restored, meddled, Stuck),
    "everything is written always": Rule(_everything_is_written_always, shows=Stuck),
}
