"""Rules of the controller of RoleBasedGroups, each broken on purpose: the simulation must notice
every one.

Not among them is that a new leader lists afresh: eight courses without that rule broke none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.pods.evictions import RbgEvictions
from intact.operator.rbg.pods.pod_labels import PodLabels
from intact.operator.rbg.server_side_apply import Applier
from intact.rollout import plan
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
    first: int = 0
    """The first seed: one that is known to show it saves time."""


def _any_number_may_go(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "most_unavailable", lambda _ratio, replicas: replicas)


def _evicted_pods_are_not_remembered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EvictedPods, "hold", lambda *_: None)


def _own_writes_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Workloads count as the store has them, not as they were last written."""
    patch.setattr(Applier, "newest", lambda _self, _resource, live, *_: live)


def _no_pod_is_let_go(patch: pytest.MonkeyPatch) -> None:
    async def keep(*_: Any) -> None: ...

    patch.setattr(RbgEvictions, "let_go", keep)


def _labels_of_pods_are_not_restored(patch: pytest.MonkeyPatch) -> None:
    async def leave(*_: Any) -> list[Any]:
        return []

    patch.setattr(PodLabels, "put_right", leave)


BROKEN: dict[str, Rule] = {
    "any number may go": Rule(_any_number_may_go),
    "evicted pods are not remembered": Rule(_evicted_pods_are_not_remembered, behind, first=6),
    "own writes are forgotten": Rule(_own_writes_are_forgotten, behind, first=2),
    "no pod is let go": Rule(_no_pod_is_let_go, shows=Stuck),
    # A pod of a Deployment is known by its owner too: it takes a StatefulSet to show.
    "labels of pods are not restored": Rule(
        _labels_of_pods_are_not_restored, meddled, Stuck, first=56
    ),
}
