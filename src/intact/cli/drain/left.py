"""What pods wait for, in the words of `intact why`: a budget, and its units that are down."""

from datetime import datetime

from intact.cli.why.units import unit_lines
from intact.picture.budget_standing import standing_of
from intact.picture.budgets import BudgetPicture
from intact.picture.reasons import Reason, Word


def waits_for(budget: BudgetPicture, said: str, *, leading: bool | None = None) -> str:
    """`said` are the last words of the server about it: they count where its numbers do not explain
    the refusal. `leading` says whether an Intact is up, as far as that is known."""
    found = standing_of(budget, leading)
    spare = found.reason is Reason.EXHAUSTED and budget.current > budget.desired
    if found.word is Word.MAY_GO or spare:
        return said or "the server refuses, and does not say why"
    return found.text


def blocks(
    budget: BudgetPicture, said: str, now: datetime, *, leading: bool | None = None
) -> list[str]:
    """What stands between a budget and the pods that wait for it, at the end of a drain."""
    found = standing_of(budget, leading)
    return [
        f"{budget.reference} in {budget.namespace}: {waits_for(budget, said, leading=leading)}",
        *unit_lines(found.waits_for, now, "  "),
    ]
