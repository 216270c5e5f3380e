"""What one seed stands for: the first RoleBasedGroup, the weather, and what may happen."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from intact.model.amounts import divide_up
from tests.simulation.scenario import Weather
from tests.support.objects import Json
from tests.support.rbg_objects import group, kind, role

NAMESPACE = "ns"
GROUP = "llm"
INTACT = "intact"
"""The user that the operators write as."""
OTHERS = "someone"
KUBELET = "system:node"

ROLES = ("prefill", "decode", "router", "cache")
RATIOS = ("10%", "25%", "34%", "50%", "100%")

_WEATHERS = (
    Weather(lags=(0.02,), pod_lags=(0.02,)),
    Weather(lags=(0.02, 0.5), pod_lags=(0.02, 0.5)),
    Weather(0.05, lost=0.01, lags=(0.02, 0.5, 2), pod_lags=(0.02, 0.5, 2)),
    Weather(0.1, slow=0.02, lost=0.03, lags=(0.2, 1, 4), pod_lags=(0.2, 1, 4)),
)

RELABEL_ROLE = "the role label of a workload is overwritten"
CHANGE_KIND = "the kind of a role is changed"


@dataclass(frozen=True, slots=True)
class Course:
    seed: int
    body: Json = field(repr=False)
    weather: Weather
    operators: int
    edits: int
    """How many edits by users there are."""
    pause: float
    """Seconds between two edits, on average."""
    kills: float | None
    """Requests of the leader between two of its deaths, on average; None if it does not die."""
    failures: bool
    """Whether others delete pods, and pods fail."""
    meddling: bool
    """Whether others change and delete workloads, Services and pods' labels."""
    bad_images: bool
    """Whether pods of some images are never ready."""
    slowest_start: float
    only_templates: bool = False
    """Whether users change nothing else."""
    without: frozenset[str] = frozenset()
    """What never happens."""

    def rng(self, name: str) -> random.Random:
        """A random stream of its own for each name."""
        return random.Random(f"rbg {name} {self.seed}")


def course(seed: int, without: frozenset[str] = frozenset()) -> Course:
    rng = random.Random(f"rbg {seed}")
    kinds = ("StatefulSet", "Deployment")
    names = ROLES[: rng.choice((1, 2, 2, 2, 3))]
    roles = [
        role(name, rng.choice((1, 2, 3, 4, 4, 6, 8)), **kind(rng.choice(kinds))) for name in names
    ]
    body = group(GROUP, *roles, coordination=[])
    if len(names) > 1 and rng.random() < 0.75:
        body["spec"]["coordination"] = [coordination(names[:2], some_rules(rng, roles))]
    if rng.random() < 0.2:
        body["spec"] |= {"progressDeadlineSeconds": 20, "onFailure": "Rollback"}
    return Course(
        seed=seed,
        body=body,
        weather=rng.choice(_WEATHERS),
        operators=rng.choice((1, 2, 2, 3)),
        edits=rng.choice((2, 4, 6, 8)),
        pause=rng.choice((0.5, 4, 12)),
        kills=rng.choice((None, 8, 25, 80)),
        failures=rng.random() < 0.4,
        meddling=rng.random() < 0.5,
        bad_images=rng.random() < 0.3,
        slowest_start=rng.choice((0.3, 2, 6)),
        without=without,
    )


def coordination(roles: Sequence[str], strategy: dict[str, str]) -> Json:
    return {
        "name": "together",
        "type": "RollingUpdate",
        "roles": list(roles),
        "strategy": strategy,
    }


def some_rules(rng: random.Random, roles: list[Json]) -> dict[str, str]:
    """Rules that leave a StatefulSet among these roles a way forward."""
    found: dict[str, str] = {}
    if rng.random() < 0.6:
        found["maxSkew"] = rng.choice(RATIOS)
    if rng.random() < 0.7:
        sizes = [one["replicas"] for one in roles if is_stateful(one) and one["replicas"]]
        least = divide_up(100, min(sizes)) if sizes else 0
        found["maxUnavailableRatio"] = f"{max(least, rng.choice((0, 10, 25, 34, 50, 100)))}%"
    if rng.random() < 0.25:
        found["partition"] = rng.choice(("25%", "50%", "100%"))
    return found


def is_stateful(role: Json) -> bool:
    return bool(role.get("workload", {}).get("kind", "StatefulSet") == "StatefulSet")
