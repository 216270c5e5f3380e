"""Coordinated rollouts as a watch sees them: how far each role was at each moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tests.support.objects import Json
from tests.support.pub_space import State, Watched, is_available
from tests.support.rbg_space import ROLE


def revision(pod: Json, role: str) -> str:
    found: str = pod["metadata"]["labels"][
        f"rolebasedgroup.workloads.x-k8s.io/role-revision-hash-{role}"
    ]
    return found


@dataclass(frozen=True, slots=True)
class Moment:
    """One role at one moment."""

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


def moment(state: State, role: str, desired: int, old: set[str]) -> Moment:
    """`old` are revisions that are not the new one."""
    pods = [
        pod
        for pod in state.values()
        if pod["metadata"].get("labels", {}).get(ROLE) == role
        and "deletionTimestamp" not in pod["metadata"]
    ]
    new = [pod for pod in pods if revision(pod, role) not in old]
    return Moment(desired, len(new), sum(map(is_available, new)), sum(map(is_available, pods)))


def course(
    watched: Watched, roles: Mapping[str, int], old: Mapping[str, set[str]]
) -> list[dict[str, Moment]]:
    return [
        {role: moment(state, role, desired, old[role]) for role, desired in roles.items()}
        for state in watched.states
    ]


def check_bounds(moments: list[dict[str, Moment]], skew: int, unavailable: int) -> None:
    """In percent. What was started is compared with what was ready: the strictest reading."""
    for at in moments:
        bound = max(Fraction(skew, 100), *(Fraction(1, one.desired) for one in at.values()))
        lowest = min(one.progress for one in at.values())
        for role, one in at.items():
            assert one.started - lowest <= bound, (role, at)
            missing = one.desired - one.available
            assert missing <= one.desired * unavailable // 100, (role, at)
