"""KEP-5682's stories, its setup example and its test plan, as tables of decisions.

One table drives two servers: the sandbox's server with the KEP's fields, which takes the manifests
as the KEP writes them, and a stock server with Intact, which takes what `intact translate` makes of
them. The KEP has YAML only of budgets; of Workloads and pods it has sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

STORY_1 = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: my-training-job-workers-pdb
spec:
  minAvailable: 9
  budgetScope: Workload  # <-- New field to enable group counting
  selector:
    matchLabels:
      # Assuming pods are labeled
      workload: my-training-job
      pod-group: worker
"""
"""Word for word."""
_BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: my-training-job-workers-pdb
spec:
  {amount}
  budgetScope: {scope}
  selector:
    matchLabels:
      workload: my-training-job
      pod-group: worker
"""
NAME = "my-training-job-workers-pdb"
WORKLOAD, POD_GROUP = "my-training-job", "worker"
LABELS = {"workload": WORKLOAD, "pod-group": POD_GROUP}
NODES = ("node-0", "node-1", "node-2")


@dataclass(frozen=True, slots=True)
class Evict:
    pod: str
    goes: bool
    why: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The counters of the KEP, in groups."""

    allowed: int
    healthy: int
    desired: int
    expected: int


@dataclass(frozen=True, slots=True)
class Says:
    """A condition of the budget."""

    type: str
    status: str
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Pods:
    """A counter of pods. Where both servers differ, `stock` is the stock one's."""

    field: str
    number: int
    stock: int | None = None


@dataclass(frozen=True, slots=True)
class Recover:
    """The pods that are gone come back, on another node."""


@dataclass(frozen=True, slots=True)
class Edit:
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drain:
    """`kubectl drain` runs while these steps are taken, and then ends."""

    node: str
    steps: Sequence["Step"]


@dataclass(frozen=True, slots=True)
class Pauses:
    """So many pods are left on the drained node, and stay. Which group goes first is chance."""

    pods: int


Step = Evict | Counts | Says | Pods | Recover | Edit | Drain | Pauses


@dataclass(frozen=True, slots=True)
class Story:
    budget: str
    groups: Mapping[str, Sequence[str]]
    """The nodes of the pods of each group, which are named after it: `g0-0`, `g0-1`."""
    need: int
    steps: Sequence[Step]
    lost: int = 0
    """Pods without a reference to a group: `lost-0`, `lost-1`."""
    owned: bool = False
    """The pods have a controller that wants them all, and does not replace them."""

    def names(self) -> dict[str, str]:
        """Pods and their nodes."""
        found = {
            f"{group}-{number}": node
            for group, nodes in self.groups.items()
            for number, node in enumerate(nodes)
        }
        return found | {f"lost-{number}": NODES[1] for number in range(self.lost)}


def group_of(pod: str) -> str:
    return pod.rpartition("-")[0]


class Server(Protocol):
    async def set_up(self, story: Story) -> None: ...
    async def evict(self, pod: str) -> bool: ...
    async def until_counts(self, counts: Counts) -> None: ...
    async def until_says(self, said: Says) -> None: ...
    async def until_pods(self, pods: Pods) -> None: ...
    async def recover(self) -> None: ...
    async def edit(self, spec: Mapping[str, Any]) -> None: ...
    async def start_drain(self, node: str) -> None: ...
    async def until_paused(self, node: str, pods: int) -> None: ...
    async def until_drained(self, node: str) -> None: ...


async def play(story: Story, server: Server) -> None:
    await server.set_up(story)
    await _take(story.steps, server, "")


async def _take(steps: Sequence[Step], server: Server, node: str) -> None:
    for step in steps:
        match step:
            case Evict(pod, goes, why):
                assert await server.evict(pod) is goes, why
            case Counts():
                await server.until_counts(step)
            case Says():
                await server.until_says(step)
            case Pods():
                await server.until_pods(step)
            case Recover():
                await server.recover()
            case Edit(spec):
                await server.edit(spec)
            case Drain(drained, inner):
                await server.start_drain(drained)
                await _take(inner, server, drained)
                await server.until_drained(drained)
            case Pauses(pods):
                await server.until_paused(node, pods)


def _spread(count: int, *nodes: str) -> tuple[str, ...]:
    return tuple(nodes[number % len(nodes)] for number in range(count))


_TEN = {f"g{number}": _spread(8, "node-1", "node-2") for number in range(10)}
_RED_AND_BLUE = {name: _spread(3, "node-0", "node-1") for name in ("red", "blue")}
_REPLICAS = {f"replica{number}": _spread(2, "node-0") for number in range(2)}

STORIES: dict[str, Story] = {
    "story 1: distributed workload": Story(
        STORY_1,
        # 10 replicas, each of at least 8 pods; one has a pod more.
        _TEN | {"g0": _spread(9, "node-1", "node-2")},
        8,
        (
            Counts(allowed=1, healthy=10, desired=9, expected=10),
            Pods("current_healthy", 81),
            Pods("desired_healthy", 72),
            Pods("expected_pods", 81),
            Pods("disruptions_allowed", 1, stock=1 + 8),
            Says("DisruptionAllowed", "True", "SufficientReplicas"),
            Says("BudgetConfigured", "True", "ValidConfig"),
            Evict("g0-0", True, "surplus: 9 healthy pods, 8 are left; costs 0"),
            Counts(allowed=1, healthy=10, desired=9, expected=10),
            Evict("g0-1", True, "at limit: 8 healthy pods, 7 are left; costs 1"),
            Counts(allowed=0, healthy=9, desired=9, expected=10),
            Says("DisruptionAllowed", "False", "InsufficientReplicas"),
            Evict("g1-0", False, "at least 9 healthy worker groups are left"),
            Evict("g9-7", False, "at least 9 healthy worker groups are left"),
            Evict("g0-2", True, "its group is disrupted already"),
        ),
    ),
    "story 2: cluster maintenance": Story(
        STORY_1,
        # The node holds one pod each of three groups.
        _TEN
        | {
            "g0": ("node-0", *_spread(7, "node-1", "node-2")),
            "g1": ("node-0", *_spread(7, "node-1", "node-2")),
            "g2": ("node-0", *_spread(7, "node-1", "node-2")),
        },
        8,
        (
            Counts(allowed=1, healthy=10, desired=9, expected=10),
            Drain(
                "node-0",
                (
                    Pauses(pods=2),
                    Counts(allowed=0, healthy=9, desired=9, expected=10),
                    # Better replica health.
                    Recover(),
                    Pauses(pods=1),
                    # Lower PDB requirements.
                    Edit({"minAvailable": 8}),
                ),
            ),
            Counts(allowed=0, healthy=8, desired=8, expected=10),
        ),
    ),
    "story 3: troubleshooting configuration": Story(
        _BUDGET.format(amount="minAvailable: 1", scope="Workload"),
        {},
        1,
        (
            Says(
                "BudgetConfigured",
                "False",
                "MissingWorkloadReference",
                "The PDB scope is set to 'Workload', but pods are missing the workload reference",
            ),
            Counts(allowed=0, healthy=0, desired=1, expected=0),
            Pods("current_healthy", 50, stock=0),
            # The KEP's example has True and SufficientPods here. All else that it says of such
            # pods is that they are treated as unhealthy, and block evictions.
            Says("DisruptionAllowed", "False", "InsufficientReplicas"),
            Evict("lost-0", False, "fail closed"),
        ),
        lost=50,
    ),
    "setup example, with the KEP": Story(
        _BUDGET.format(amount="maxUnavailable: 1", scope="Workload"),
        _REPLICAS,
        2,
        (
            Counts(allowed=1, healthy=2, desired=1, expected=2),
            Evict("replica0-0", True, "unavailable groups (1) <= 1"),
            Evict("replica1-0", False, "total unavailable groups (2) > 1"),
            Evict("replica0-1", True, "unavailable groups (1) <= 1"),
            Evict("replica1-1", False, "replica 1 is protected"),
        ),
    ),
    "setup example, traditional": Story(
        _BUDGET.format(amount="maxUnavailable: 2", scope="Pod"),
        _REPLICAS,
        2,
        (
            Pods("disruptions_allowed", 2),
            Evict("replica0-0", True, "unavailable pods (1) <= 2"),
            Evict("replica1-0", True, "unavailable pods (2) <= 2"),
            Evict("replica0-1", False, "PDB limit reached: both replicas are broken"),
            Evict("replica1-1", False, "PDB limit reached: both replicas are broken"),
        ),
        owned=True,
    ),
    "e2e plan": Story(
        _BUDGET.format(amount="minAvailable: 1", scope="Workload"),
        _RED_AND_BLUE,
        3,
        (
            Counts(allowed=1, healthy=2, desired=1, expected=2),
            Drain(
                "node-0",
                (
                    Pauses(pods=2),
                    Edit({"minAvailable": 0}),
                ),
            ),
        ),
    ),
    "the KEP's later word": Story(
        _BUDGET.format(amount="minAvailable: 1", scope="PodGroup"),
        _RED_AND_BLUE,
        3,
        (
            Counts(allowed=1, healthy=2, desired=1, expected=2),
            Evict("red-0", True, "costs 1"),
            Evict("blue-0", False, "one group is left"),
        ),
    ),
    "integration test 1: pods of a Workload under a budget in pods": Story(
        _BUDGET.format(amount="minAvailable: 5", scope="Pod"),
        _RED_AND_BLUE,
        3,
        (
            Pods("disruptions_allowed", 1),
            Evict("red-0", True, "6 pods, 5 are left"),
            Evict("red-1", False, "a pod is a pod, of whatever group"),
        ),
    ),
    "fragile groups": Story(
        _BUDGET.format(amount="minAvailable: 2", scope="Workload"),
        {"red": _spread(2, "node-0"), "blue": _spread(3, "node-1")},
        3,
        (
            Counts(allowed=0, healthy=1, desired=2, expected=2),
            Evict("red-0", False, "too few replicas are healthy"),
            Evict("blue-0", False, "too few replicas are healthy"),
            Edit({"unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            Counts(allowed=0, healthy=1, desired=2, expected=2),
            Evict("red-0", True, "pods of unhealthy replicas go under this policy"),
            Evict("blue-0", False, "this replica is healthy"),
        ),
    ),
}
