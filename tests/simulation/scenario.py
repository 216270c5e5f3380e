"""What one seed stands for: workloads, budgets, and how bad the network is."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

Amounts = dict[str, int | str]
GROUP_KEY = "shard"
CUSTOM = "Serving"
"""A custom kind without a scale."""
NO_OWNER = ""
_API_VERSIONS = {"Job": "batch/v1", CUSTOM: "example.dev/v1"}


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    name: str
    kind: str
    """`NO_OWNER` for pods that someone creates again by hand."""
    app: str
    groups: tuple[str | None, ...]
    """The group of each replica."""

    @property
    def api_version(self) -> str:
        return _API_VERSIONS.get(self.kind, "apps/v1")

    @property
    def keeps_names(self) -> bool:
        """Whether pods come back under their names."""
        return self.kind not in ("ReplicaSet", "Job", "DaemonSet")

    @property
    def replaces_early(self) -> bool:
        """Whether a pod is replaced while it still terminates."""
        return self.kind in ("ReplicaSet", "Job")


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    name: str
    app: str
    """Which pods it covers."""
    amounts: Amounts
    total: int
    """Of its units."""
    target: WorkloadPlan | None = None
    """The workload that it names; None if it selects by label."""
    need: int | None = None
    """Available pods that a group needs; None if it counts pods."""
    unreachable: int | None = None
    """What it asks of a group, more than any has. It counts pods then."""

    @property
    def desired(self) -> int:
        """Units that must stay available, computed in another way than Intact does."""
        wanted = 0
        for name, amount in self.amounts.items():
            number = amount
            if isinstance(number, str):
                number = (int(number[:-1]) * self.total + 99) // 100
            wanted = max(wanted, number if name == "minAvailable" else self.total - number)
        return wanted

    def spec(self) -> dict[str, object]:
        spec: dict[str, object] = {**self.amounts}
        if self.target is not None:
            version, kind, name = self.target.api_version, self.target.kind, self.target.name
            spec["targetRef"] = {"apiVersion": version, "kind": kind, "name": name}
        else:
            spec["selector"] = {"matchLabels": {"app": self.app}}
        need = self.need or self.unreachable
        if need is not None:
            spec["podGroupPolicy"] = {"groupLabelKey": GROUP_KEY, "minReadyReplicas": need}
        return spec


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad the network between the operators and the API is. Seconds and probabilities."""

    latency: float = 0.01
    slow: float = 0.0
    """Share of the requests that take seconds."""
    lost: float = 0.0
    """Share of the requests that are lost before they are carried out; as many answers are lost."""
    lags: tuple[float, ...] = (0.02,)
    """How late watches may be: each watch of each operator has one of these."""
    pod_lags: tuple[float, ...] = (0.02,)
    """The same for watches of pods."""
    storms: float = 0.0
    """How many watches break, are held or expire, a second."""


CALM = Weather()
STALE = Weather(0.02, pod_lags=(0.02, 12, 45), storms=0.02)
_WEATHERS = (
    Weather(lags=(0.02, 0.5), pod_lags=(0.02, 0.5), storms=0.02),
    Weather(0.05, slow=0.02, lost=0.01, lags=(0.02, 1, 4), pod_lags=(0.02, 1, 4), storms=0.1),
    Weather(0.2, slow=0.1, lost=0.05, lags=(0.2, 3, 10), pod_lags=(0.2, 3, 10), storms=0.2),
    STALE,
)


@dataclass(frozen=True, slots=True)
class Paces:
    """Seconds between two events of a kind, on average."""

    deletions: float
    updates: float
    marks: float
    deaths: float
    failures: float | None
    """None if no pod fails on its own."""


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    workloads: tuple[WorkloadPlan, ...]
    budgets: tuple[BudgetPlan, ...]
    weather: Weather
    paces: Paces
    operators: int
    lease: float
    """Seconds for which the lease of the leader is valid."""
    duration: float
    """Seconds of trouble; then everything heals."""
    slowest_start: float = 4.0
    """Seconds that a container may take until it is ready."""
    native: bool = False
    """A PodDisruptionBudget covers the pods, too. It often refuses."""
    forgeries: float | None = None
    """Seconds between two reviews that the API server never sent; None if there are none."""
    restores: float | None = None
    """Seconds between two restores of the API from a backup; None if there are none."""


def scenario(seed: int) -> Scenario:
    """Each of the special circumstances in some of the runs, so that they also meet."""
    made = plain(seed)
    rng = random.Random(f"circumstances {seed}")
    for circumstance in CIRCUMSTANCES:
        if rng.random() < _SHARE:
            made = circumstance(made)
    return made


def plain(seed: int) -> Scenario:
    rng = random.Random(f"scenario {seed}")
    parts = rng.choice((("pods",), ("groups",), ("pods", "groups")))
    workloads: list[WorkloadPlan] = []
    budgets: list[BudgetPlan] = []
    for part in parts:
        made, budget = (_pods if part == "pods" else _groups)(rng)
        workloads += made
        budgets.append(budget)
    return Scenario(
        seed,
        tuple(workloads),
        tuple(budgets),
        weather=rng.choice(_WEATHERS),
        paces=Paces(
            deletions=rng.choice((1, 3, 6)),
            updates=rng.choice((2, 5, 10)),
            marks=rng.choice((5, 15)),
            deaths=rng.choice((8, 15, 30)),
            failures=rng.choice((None, None, None, 3, 8)),
        ),
        operators=rng.choice((2, 2, 3)),
        lease=rng.choice((3.0, 6.0, 15.0)),
        duration=rng.uniform(40, 80),
    )


def _pods(rng: random.Random) -> tuple[list[WorkloadPlan], BudgetPlan]:
    size = rng.randint(3, 5)
    kind = rng.choice(("StatefulSet", "StatefulSet", "ReplicaSet"))
    workload = WorkloadPlan("web", kind, "web", (None,) * size)
    target = workload if rng.random() < 0.5 else None
    amounts = _amounts(rng, size)
    return [workload], BudgetPlan("pods", "web", amounts, size, target)


def _groups(rng: random.Random) -> tuple[list[WorkloadPlan], BudgetPlan]:
    """One workload for each group, or one StatefulSet whose pods are labelled by their number."""
    number, size = rng.randint(2, 4), rng.randint(2, 3)
    names = [f"s{index}" for index in range(number)]
    target = None
    if rng.random() < 0.4:
        groups = tuple(name for name in names for _ in range(size))
        workloads = [WorkloadPlan("llm", "StatefulSet", "llm", groups)]
        target = workloads[0] if rng.random() < 0.5 else None
    else:
        kind = rng.choice(("StatefulSet", "ReplicaSet"))
        workloads = [WorkloadPlan(f"llm-{name}", kind, "llm", (name,) * size) for name in names]
    need = size - 1 if rng.random() < 0.5 else size
    return workloads, BudgetPlan("groups", "llm", _amounts(rng, number), number, target, need)


def _amounts(rng: random.Random, total: int) -> Amounts:
    """Always with room for at least one disruption."""
    choices: tuple[Amounts, ...] = (
        {"maxUnavailable": 1},
        {"maxUnavailable": 1},
        {"minAvailable": total - 1},
        {"maxUnavailable": "25%"},
        {"minAvailable": "50%"},
    )
    return rng.choice(choices)


def unscaled(made: Scenario) -> Scenario:
    """The owners of the pods have no scale, or there are none."""
    rng = random.Random(f"unscaled {made.seed}")
    kind = rng.choice(("DaemonSet", "Job", CUSTOM, NO_OWNER))
    plans = {plan: replace(plan, kind=kind) for plan in made.workloads}
    budgets = [
        replace(
            budget,
            target=plans[budget.target] if budget.target is not None and kind else None,
        )
        for budget in made.budgets
    ]
    # A pod that fails and is removed lowers the total of such a budget, as it should.
    paces = replace(made.paces, failures=None)
    return replace(made, workloads=tuple(plans.values()), budgets=tuple(budgets), paces=paces)


def unreachable(made: Scenario) -> Scenario:
    """No group has as many pods as the budget asks of each."""
    rng = random.Random(f"unreachable {made.seed}")

    def beyond(budget: BudgetPlan) -> BudgetPlan:
        if budget.need is None:
            return budget
        pods = sum(len(plan.groups) for plan in made.workloads if plan.app == budget.app)
        asked = pods // budget.total + rng.choice((1, 5))
        # A number as minAvailable is one of groups: it would never allow anything.
        choices: tuple[Amounts, ...] = (
            {"maxUnavailable": 1},
            {"maxUnavailable": "25%"},
            {"minAvailable": "50%"},
        )
        amounts = rng.choice(choices)
        return replace(budget, amounts=amounts, total=pods, need=None, unreachable=asked)

    return replace(made, budgets=tuple(map(beyond, made.budgets)))


def refused(made: Scenario) -> Scenario:
    """A native budget on the same pods."""
    return replace(made, native=True)


def forged(made: Scenario) -> Scenario:
    return replace(made, forgeries=0.5)


def restored(made: Scenario) -> Scenario:
    return replace(made, restores=20.0)


_SHARE = 0.15
"""Of the runs that have one of these circumstances."""
CIRCUMSTANCES: tuple[Callable[[Scenario], Scenario], ...] = (
    unscaled,
    unreachable,
    refused,
    forged,
    restored,
)
