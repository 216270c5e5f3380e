"""Coordinated rollouts as a watch reports them: the progress of each role at each moment."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.support.leader_worker_sets import GROUP_INDEX
from tests.support.namespace_under_test import NamespaceUnderTest, State, Watched, is_available
from tests.support.objects import Json
from tests.support.rbg_waiting import ROLE


def revision(pod: Json, role: str) -> str:
    found: str = pod["metadata"]["labels"][
        f"rolebasedgroup.workloads.x-k8s.io/role-revision-hash-{role}"
    ]
    return found


@dataclass(frozen=True, slots=True)
class Moment:
    """The replicas of one role at one moment."""

    desired: int
    updated: int
    ready: int
    """Of the updated."""
    available: int

    @property
    def started(self) -> Fraction:
        return Fraction(self.updated, self.desired)

    @property
    def progress(self) -> Fraction:
        return Fraction(self.ready, self.desired)


def moment(state: State, role: str, desired: int, old: set[str], size: int = 1) -> Moment:
    """`old` are the revisions before the rollout; `size` is that of a LeaderWorkerSet replica."""
    replicas: dict[str, list[Json]] = {}
    for uid, pod in state.items():
        labels = pod["metadata"].get("labels", {})
        if labels.get(ROLE) == role and "deletionTimestamp" not in pod["metadata"]:
            replicas.setdefault(labels.get(GROUP_INDEX, uid), []).append(pod)
    new = [
        pods for pods in replicas.values() if all(revision(pod, role) not in old for pod in pods)
    ]
    available = [
        pods for pods in replicas.values() if sum(is_available(pod) for pod in pods) == size
    ]
    ready = sum(pods in available for pods in new)
    return Moment(desired, len(new), ready, len(available))


def course(
    watched: Watched,
    roles: Mapping[str, int],
    old: Mapping[str, set[str]],
    sizes: Mapping[str, int] | None = None,
) -> list[dict[str, Moment]]:
    found = sizes or {}
    return [
        {
            role: moment(state, role, desired, old[role], found.get(role, 1))
            for role, desired in roles.items()
        }
        for state in watched.states
    ]


def check_bounds(moments: list[dict[str, Moment]], skew: int, unavailable: int) -> None:
    """`skew` and `unavailable` are in percent. What one role has started is compared with what the
    others have ready: the strictest reading."""
    for at in moments:
        bound = max(Fraction(skew, 100), *(Fraction(1, one.desired) for one in at.values()))
        lowest = min(one.progress for one in at.values())
        for role, one in at.items():
            assert one.started - lowest <= bound, (role, at)
            missing = one.desired - one.available
            assert missing <= one.desired * unavailable // 100, (role, at)


async def intact(ns: NamespaceUnderTest, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command of Intact's."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        *arguments,
        f"--kubeconfig={ns.cluster.kubeconfig}",
        f"--namespace={ns.name}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode is not None
    return process.returncode, said.decode()
