"""What a budget says to a unit of its own that is available and wants to go, whichever it is."""

from intact.budget.pdb.group_settings import check_settings
from intact.budget.pub.unreadable import problem_of
from intact.model.pdb import PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget
from intact.picture.budget_verdict import (
    BudgetVerdict,
    allows,
    as_enforced,
    exhausted,
    intact_down,
    not_processed,
)
from intact.picture.budgets import BudgetPicture
from intact.picture.pdb_verdict import STOCK, cannot_be_counted, invalid
from intact.picture.pub_verdict import holds_nothing, total_unknown, unreadable
from intact.picture.reasons import Reason


def standing_of(found: BudgetPicture, leading: bool | None) -> BudgetVerdict:
    """`leading` says whether an Intact is up."""
    budget = found.budget
    if isinstance(budget, PodUnavailableBudget):
        problem = holds_nothing(found) or _of_pub(found, budget, leading)
    else:
        problem = _of_pdb(found, budget, leading)
    if problem:
        return problem
    if not found.units and not found.total:
        return allows(found, Reason.NOT_HELD, "it covers no pods")
    return allows(found) if found.allowed > 0 else as_enforced(exhausted(found))


def _of_pub(
    found: BudgetPicture, budget: PodUnavailableBudget, leading: bool | None
) -> BudgetVerdict | None:
    if leading is False:
        return intact_down(found)
    if problem_of(budget):
        return unreadable(found, budget)
    return total_unknown(found) if found.counted else not_processed(found, "Intact")


def _of_pdb(
    found: BudgetPicture, budget: PodDisruptionBudget, leading: bool | None
) -> BudgetVerdict | None:
    by_intact = found.in_groups and found.intact is not False and not budget.server_decides
    if by_intact and leading is False:
        return intact_down(found)
    if by_intact and check_settings(budget):
        return invalid(found, budget)
    if not found.counted:
        return not_processed(found, "Intact" if by_intact else STOCK)
    return None if by_intact else cannot_be_counted(found)
