"""What findings are made from: a picture, where it comes from, and one budget of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from intact.budget.pdb.group_settings import check_settings, read_settings
from intact.budget.pub.settings import read_settings as read_pub_settings
from intact.budget.pub.validation import validate
from intact.model.amounts import IntOrPercent
from intact.model.field_error import FieldError
from intact.model.meta import api_group
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import DetailedPod
from intact.model.pub import PodUnavailableBudget
from intact.picture.budgets import BudgetPicture
from intact.picture.findings.finding import About
from intact.picture.findings.pdb_fields import pdb_errors
from intact.picture.picture import Picture
from intact.picture.units import State, UnitPicture


class Target(NamedTuple):
    """A workload that a targetRef names."""

    namespace: str
    group: str
    kind: str
    name: str


class TargetState(NamedTuple):
    """What is known of it. All empty: it exists, and wants pods."""

    problem: str = ""
    """Why it cannot be found."""
    replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    picture: Picture
    live: bool
    """Of a cluster; else of files, where other objects may be missing."""
    targets: Mapping[Target, TargetState] = field(default_factory=dict)
    """Those that were looked for."""
    exempt: Collection[str] = ()
    """Namespaces that Intact never gates."""
    uncounted: Collection[str] = ()
    """UIDs of pods that stand for a number of pods which the files do not say."""
    unread: Mapping[About, Sequence[FieldError]] = field(default_factory=dict)
    """Fields of PodDisruptionBudgets that could not be read."""
    others_own_pubs: bool = False
    """Another product has installed the kind PodUnavailableBudget, and runs it."""


@dataclass(frozen=True)
class Subject:
    """One budget, with what the rules ask about it."""

    facts: Facts
    budget: BudgetPicture

    @property
    def live(self) -> bool:
        return self.facts.live

    @cached_property
    def about(self) -> About:
        return About(self.budget.kind, self.budget.namespace, self.budget.name)

    @property
    def pub(self) -> PodUnavailableBudget | None:
        found = self.budget.budget
        return found if isinstance(found, PodUnavailableBudget) else None

    @property
    def pdb(self) -> PodDisruptionBudget | None:
        found = self.budget.budget
        return found if isinstance(found, PodDisruptionBudget) else None

    @property
    def amounts(self) -> dict[str, IntOrPercent]:
        """Those that are given, by field."""
        spec = self.budget.budget.spec
        both = {"maxUnavailable": spec.max_unavailable, "minAvailable": spec.min_available}
        return {name: amount for name, amount in both.items() if amount is not None}

    @cached_property
    def errors(self) -> list[FieldError]:
        """What the API server or Intact would refuse in this object alone."""
        if self.pub is not None:
            return validate(self.pub, []).errors
        assert self.pdb is not None
        unread = list(self.facts.unread.get(self.about, ()))
        in_groups = check_settings(self.pdb) if self.budget.in_groups else []
        return unread + pdb_errors(self.pdb) + in_groups

    @cached_property
    def pods(self) -> tuple[DetailedPod, ...]:
        return tuple(pod for unit in self.budget.units for pod in unit.pods)

    @cached_property
    def groups(self) -> list[UnitPicture]:
        """Those that have pods."""
        return [unit for unit in self.budget.units if unit.is_group and unit.pods]

    @property
    def group_label_key(self) -> str:
        if self.pub is not None:
            policy = self.pub.spec.pod_group_policy
            return policy.group_label_key if policy else ""
        assert self.pdb is not None
        return read_settings(self.pdb).label_key if self.budget.in_groups else ""

    @cached_property
    def total(self) -> int | None:
        """Units that there should be; None if that is not known."""
        if self.pub is not None and (own := read_pub_settings(self.pub).total) is not None:
            return own
        if self.pdb is not None and self.budget.in_groups:
            stated = read_settings(self.pdb).expected
            if stated is not None:
                return stated
        counts = self.budget.intact is not False or not (self.pub or self.budget.in_groups)
        if self.live and counts and self.budget.counted:
            return self.budget.total or None
        if any(pod.metadata.uid in self.facts.uncounted for pod in self.pods):
            return None
        if any(unit.state is State.UNKNOWN for unit in self.budget.units):
            return None
        return len(self.budget.units) or None

    def units(self, number: int) -> str:
        """`1 pod`, `3 groups`."""
        return f"{number} {self.budget.unit}{'' if number == 1 else 's'}"

    @property
    def target(self) -> Target | None:
        ref = self.pub.spec.target_ref if self.pub else None
        if ref is None:
            return None
        return Target(self.budget.namespace, api_group(ref.api_version), ref.kind, ref.name)


def subjects(facts: Facts) -> list[Subject]:
    return [Subject(facts, budget) for budget in facts.picture.budgets]
