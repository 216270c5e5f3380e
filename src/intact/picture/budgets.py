"""One budget of either kind: what it counts, what it allows, whether it works."""

from dataclasses import dataclass
from functools import cached_property

from intact.budget.enforcement import Enforcement, enforcement_of
from intact.budget.pdb.annotations import counters_of, ledger_of
from intact.budget.pub import conditions as pub_conditions
from intact.budget.pub.never_allows import never_allows
from intact.budget.pub.unreadable import problem_of
from intact.model.group_ledger import GroupLedger
from intact.model.meta import Condition
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.model.pub import PodUnavailableBudget
from intact.picture.coverage import PUB, Coverage
from intact.picture.units import UnitPicture

BUDGET_CONFIGURED = "BudgetConfigured"
SHORT = {"PodUnavailableBudget": "pub", "PodDisruptionBudget": "pdb"}


@dataclass(frozen=True)
class BudgetPicture:
    budget: PodUnavailableBudget | PodDisruptionBudget
    coverage: Coverage
    units: tuple[UnitPicture, ...]
    """Those that are down first, then by name; pods of a budget that counts groups and which are
    in none are units of their own."""
    intact: bool | None
    """Whether Intact's webhooks are registered; None if that is not known."""

    @property
    def kind(self) -> str:
        return self.coverage.kind

    @property
    def namespace(self) -> str:
        return self.coverage.namespace

    @property
    def name(self) -> str:
        return self.coverage.name

    @property
    def reference(self) -> str:
        """As people name it: `pub/llm`."""
        return f"{SHORT[self.kind]}/{self.name}"

    @property
    def in_groups(self) -> bool:
        return self.coverage.in_groups

    @property
    def counts_groups(self) -> bool:
        """Whether its numbers are of groups, and not of pods for want of Intact, or of groups that
        have the pods that they need."""
        if isinstance(self.budget, PodUnavailableBudget):
            return self.in_groups and not self.one_by_one
        return self.in_groups and (self.intact is not False or self.budget.server_decides)

    @property
    def one_by_one(self) -> bool:
        """Whether it asks for groups and holds its pods one by one, because no group has had the
        pods that it needs."""
        budget = self.budget
        if not isinstance(budget, PodUnavailableBudget) or not self.in_groups:
            return False
        return self.counted and bool(self.total) and not budget.status.ledger.reached

    @property
    def unit(self) -> str:
        return "group" if self.counts_groups else "pod"

    @property
    def allowed(self) -> int:
        """Units that may go now."""
        if isinstance(self.budget, PodUnavailableBudget):
            return max(0, self.budget.status.unavailable_allowed - self.budget.status.ledger.idle)
        return (
            self.counters.allowed if self.counts_groups else self.budget.status.disruptions_allowed
        )

    @property
    def current(self) -> int:
        """Units that are available, without those that their owners do not want any more."""
        if isinstance(self.budget, PodUnavailableBudget):
            return max(0, self.budget.status.current_available - self.budget.status.ledger.idle)
        return self.counters.available if self.counts_groups else self.budget.status.current_healthy

    @property
    def desired(self) -> int:
        """Units that must stay available."""
        if isinstance(self.budget, PodUnavailableBudget):
            return self.budget.status.desired_available
        return self.counters.desired if self.counts_groups else self.budget.status.desired_healthy

    @property
    def total(self) -> int:
        """Units that there should be."""
        if isinstance(self.budget, PodUnavailableBudget):
            return self.budget.status.total_replicas
        return self.counters.expected if self.counts_groups else self.budget.status.expected_pods

    @cached_property
    def counters(self) -> GroupLedger:
        """Of a PodDisruptionBudget that counts groups."""
        assert isinstance(self.budget, PodDisruptionBudget)
        return counters_of(self.budget) or GroupLedger()

    @cached_property
    def ledger(self) -> GroupLedger:
        assert isinstance(self.budget, PodDisruptionBudget)
        return ledger_of(self.budget)

    @property
    def down(self) -> list[UnitPicture]:
        """The units that are not available; those that are down for longest first."""
        return [unit for unit in self.units if not unit.is_up]

    @property
    def counted(self) -> bool:
        """Whether its numbers are for its present spec."""
        status = self.budget.status
        return status.observed_generation >= max(1, self.budget.metadata.generation)

    @property
    def enforcement(self) -> Enforcement:
        if self.kind == PUB or self.in_groups:
            return enforcement_of(self.budget.metadata.annotations)
        return Enforcement.ENFORCE

    @property
    def condition(self) -> Condition | None:
        """The one that says whether it works; None if nothing does."""
        name = pub_conditions.WORKING if self.kind == PUB else BUDGET_CONFIGURED
        return self.condition_of(name)

    def condition_of(self, kind: str) -> Condition | None:
        for one in self.budget.status.conditions:
            if one.type == kind:
                return one
        return None

    @property
    def not_working(self) -> str:
        """Why nothing is held, or nothing can ever be counted; empty if it works."""
        needs_intact = self.kind == PUB or self.in_groups
        if needs_intact and self.intact is False:
            if self.kind == PUB:
                return "Intact is not installed here: nothing holds this budget"
            if not self.counts_groups:
                return "Intact is not installed here: Kubernetes counts pods, not groups"
        if isinstance(self.budget, PodUnavailableBudget) and (problem := problem_of(self.budget)):
            return f"the budget cannot be read: {problem}"
        if not self.counted:
            return "it was not counted yet for its present spec"
        found = self.condition
        return found.message if found is not None and found.status == "False" else ""

    @property
    def working_since(self) -> str:
        """When its condition last changed, else when it was created."""
        found = self.condition
        if found is not None and found.last_transition_time:
            return found.last_transition_time
        return self.budget.metadata.creation_timestamp

    @property
    def never(self) -> str:
        """Why it lets nothing go even while all units are available; empty if it does."""
        if isinstance(self.budget, PodUnavailableBudget):
            return never_allows(self.budget.spec, self.total or None)
        if self.counted and self.desired >= self.total > 0:
            units = self.unit if self.total == 1 else f"{self.unit}s"
            return (
                f"it requires {self.desired} of {self.total} {units}: none can ever go; change the "
                "amount, or scale up"
            )
        spec = self.budget.spec
        if spec.max_unavailable in (0, "0%"):
            return f"maxUnavailable is {spec.max_unavailable}: nothing can ever go"
        if spec.min_available == "100%":
            return "minAvailable is 100%: nothing can ever go"
        return ""

    def unit_of(self, pod: Pod) -> UnitPicture | None:
        """The unit that a pod of it is part of."""
        return self._by_uid.get(pod.metadata.uid)

    @cached_property
    def _by_uid(self) -> dict[str, UnitPicture]:
        return {pod.metadata.uid: unit for unit in self.units for pod in unit.pods}
