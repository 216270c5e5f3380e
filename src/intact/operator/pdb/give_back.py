"""Gives back a PodDisruptionBudget that does not count groups, or not any more.

It loses everything that Intact wrote into it for groups, and the controller that counts pods counts
it again. If it has labels or annotations that mean nothing without the label, a condition says so.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED, without_effect
from intact.budget.pdb.group_settings import LEDGER, REPLICAS
from intact.budget.pdb.ineffective import ineffective
from intact.budget.pdb.scope import counts_pods
from intact.kube.store import key_of
from intact.model.conditions import merge
from intact.model.meta import Condition
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb.events import DisruptionEvents
from intact.operator.pdb.status_writer import StatusWriter


class GiveBack:
    def __init__(
        self,
        writer: StatusWriter,
        events: DisruptionEvents,
        *,
        now: Callable[[], datetime],
        keep_replicas: bool,
    ) -> None:
        """The annotation with the counters stays where this process counts pods: budgets that count
        pods have it as well."""
        self._writer = writer
        self._events = events
        self._now = now
        self._keep_replicas = keep_replicas

    async def reconcile(self, budget: PodDisruptionBudget) -> None:
        async def attempt() -> None:
            if is_left_over(budget):
                await self._clear(budget)

        def refresh(found: PodDisruptionBudget) -> None:
            nonlocal budget
            budget = found

        await self._writer.retry_conflicts(key_of(budget), attempt, refresh)
        self._events.configured(budget, _problem(budget))

    async def _clear(self, budget: PodDisruptionBudget) -> None:
        problem = _problem(budget)
        conditions = merge(
            budget.status.conditions,
            [problem] if problem else [],
            budget.metadata.generation,
            self._now(),
            ours=(BUDGET_CONFIGURED,),
        )
        annotations = [LEDGER] if self._keep_replicas else [LEDGER, REPLICAS]
        await self._writer.write(
            budget, replace(budget.status, conditions=conditions), dict.fromkeys(annotations)
        )


def _problem(budget: PodDisruptionBudget) -> Condition | None:
    told = ineffective(budget)
    return without_effect(told) if told else None


def is_left_over(budget: PodDisruptionBudget) -> bool:
    """Whether it counts pods, and anything in it says otherwise."""
    if not counts_pods(budget):
        return False
    if LEDGER in budget.metadata.annotations:
        return True
    said = [each for each in budget.status.conditions if each.type == BUDGET_CONFIGURED]
    problem = _problem(budget)
    wanted = [problem] if problem else []
    return list(map(_text, said)) != list(map(_text, wanted))


def _text(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message
