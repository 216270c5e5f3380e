"""What one budget says to a pod that wants to go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from intact.budget.enforcement import Enforcement
from intact.model.listing import listed
from intact.model.pod_state import is_terminating
from intact.picture.budgets import BudgetPicture
from intact.picture.causes import Waited, waited
from intact.picture.reasons import Reason, Word
from intact.picture.units import UnitPicture


@dataclass(frozen=True, slots=True)
class BudgetVerdict:
    budget: BudgetPicture
    word: Word
    reason: Reason
    text: str
    when: str = ""
    """What must become true before the pod may go, as a clause: `shard-0 is ready again`."""
    waits_for: tuple[Waited, ...] = ()
    note: str = ""
    """What the word does not say: why nothing holds the pod, who would be asked."""


def allows(
    budget: BudgetPicture, reason: Reason = Reason.ALLOWED, text: str = "", note: str = ""
) -> BudgetVerdict:
    if not text:
        text = f"{counted(budget.allowed, 'disruption')} allowed"
    return BudgetVerdict(budget, Word.MAY_GO, reason, text, note=note)


def never(budget: BudgetPicture, reason: Reason, text: str, when: str) -> BudgetVerdict:
    return BudgetVerdict(budget, Word.NEVER, reason, text, when)


def waits(
    budget: BudgetPicture, reason: Reason, text: str, when: str, units: Iterable[UnitPicture] = ()
) -> BudgetVerdict:
    return BudgetVerdict(budget, Word.WAITS, reason, text, when, tuple(map(waited, units)))


def exhausted(budget: BudgetPicture, reason: Reason = Reason.EXHAUSTED) -> BudgetVerdict:
    """No unit is left: it waits for those that are down, or lets nothing go at all."""
    if budget.never:
        return never_allows(budget)
    text = available_text(budget)
    return waits(budget, reason, text, ready_again(budget), budget.down)


def intact_down(budget: BudgetPicture) -> BudgetVerdict:
    text = "Intact seems to be down: the API server lets nothing go without it"
    return waits(budget, Reason.INTACT_DOWN, text, "Intact is up again")


def not_processed(budget: BudgetPicture, by: str) -> BudgetVerdict:
    text = f"{by} is still counting its pods"
    return waits(budget, Reason.NOT_PROCESSED, text, f"{by} has counted {budget.reference}")


def not_counted(budget: BudgetPicture, text: str) -> BudgetVerdict:
    return never(budget, Reason.NOT_COUNTED, text, f"the pods of {budget.reference} can be counted")


def as_enforced(verdict: BudgetVerdict) -> BudgetVerdict:
    """The same, unless the budget only tells of denials."""
    budget, mode = verdict.budget, verdict.budget.enforcement
    if verdict.word is Word.MAY_GO or mode is Enforcement.ENFORCE:
        return verdict
    note = f"by its enforcement {mode}, it tells of denials and holds nothing"
    return allows(budget, Reason.NOT_ENFORCED, verdict.text, note)


def never_allows(budget: BudgetPicture) -> BudgetVerdict:
    when = f"{budget.reference} is changed, or its workload is scaled up"
    return never(budget, Reason.NEVER_ALLOWS, budget.never, when)


def available_text(budget: BudgetPicture) -> str:
    units = counted(budget.total, budget.unit)
    are = "is" if budget.current == 1 else "are"
    return f"{budget.current} of {units} {are} available, the budget requires {budget.desired}"


def ready_again(budget: BudgetPicture) -> str:
    """Which units must be ready before one more may go."""
    short = max(1, budget.desired - budget.current + 1)
    down = budget.down
    if budget.counts_groups:
        return _groups_again([unit.name for unit in down], short)
    if len(down) == short == 1 and not down[0].is_group:
        [unit] = down
        going = unit.let_go or any(is_terminating(pod) for pod in unit.pods)
        return f"{unit.name} is {'replaced' if going else 'ready'}"
    return f"{counted(short, 'more pod')} {'is' if short == 1 else 'are'} ready"


def _groups_again(names: Sequence[str], short: int) -> str:
    if len(names) < short:
        return f"{counted(short, 'more group')} {'is' if short == 1 else 'are'} ready"
    if len(names) > short:
        return f"{short} of {listed(names)} {'is' if short == 1 else 'are'} ready again"
    return f"{both(names)} {'is' if short == 1 else 'are'} ready again"


def both(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    shown = listed(names)
    if shown != ", ".join(names):
        return shown
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def counted(number: int, one: str) -> str:
    return f"{number} {one}{'' if number == 1 else 's'}"
