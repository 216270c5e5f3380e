"""Gives back a PodDisruptionBudget that no longer counts groups.

It loses everything that Intact wrote into it, and the controller that counts pods counts it again.
"""

from msgspec.structs import replace

from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED
from intact.budget.pdb.group_settings import LEDGER, REPLICAS
from intact.kube.store import key_of
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb.status_writer import StatusWriter


class GiveBack:
    def __init__(self, writer: StatusWriter, *, keep_replicas: bool) -> None:
        """The annotation with the counters stays where this process counts pods: budgets that count
        pods have it as well."""
        self._writer = writer
        self._keep_replicas = keep_replicas

    async def reconcile(self, budget: PodDisruptionBudget) -> None:
        async def attempt() -> None:
            if is_left_over(budget):
                await self._clear(budget)

        def refresh(found: PodDisruptionBudget) -> None:
            nonlocal budget
            budget = found

        await self._writer.retry_conflicts(key_of(budget), attempt, refresh)

    async def _clear(self, budget: PodDisruptionBudget) -> None:
        conditions = [each for each in budget.status.conditions if each.type != BUDGET_CONFIGURED]
        annotations = [LEDGER] if self._keep_replicas else [LEDGER, REPLICAS]
        await self._writer.write(
            budget, replace(budget.status, conditions=conditions), dict.fromkeys(annotations)
        )


def is_left_over(budget: PodDisruptionBudget) -> bool:
    """Whether anything in it is from when it counted groups."""
    return LEDGER in budget.metadata.annotations or any(
        each.type == BUDGET_CONFIGURED for each in budget.status.conditions
    )
