"""What an answer to an eviction means.

| answer | means |
|---|---|
| granted | the pod terminates |
| 404; 409, and the pod has another UID | the pod is gone already |
| 429 | not now: a budget, or a server that has too much to do |
| 403, the namespace is terminating | the pod goes with its namespace |
| 500, two PodDisruptionBudgets | an error, until one of the budgets changes |
| other 5xx; 409 | the server, or a webhook, could not answer: asked again, later and later |
| no answer | asked again until there is one |
| anything else | an error, until a budget changes |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from intact.cli.drain.units import BudgetKey, allowed, key_of
from intact.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from intact.model.times import parse_time
from intact.picture.budgets import BudgetPicture
from intact.picture.coverage import PDB

TWO_BUDGETS = "more than one PodDisruptionBudget"
_DISRUPTION_BUDGET = "DisruptionBudget"
_NAMESPACE_TERMINATING = "NamespaceTerminating"
_UNTIL = re.compile(r"\buntil (\d{4}-\d\d-\d\dT[\d:.]+Z)")
_WORD = r"(?<![\w.-]){}(?![\w-]|\.\w)"


class Answer(Enum):
    GRANTED = auto()
    GONE = auto()
    LEAVING = auto()
    """It goes without being asked."""
    REFUSED = auto()
    BUSY = auto()
    """The server has too much to do: it is asked again when it says so."""
    CONFLICT = auto()
    """Either the pod is another one, or two writers have met."""
    FAILED = auto()
    """May pass by itself."""
    UNREACHABLE = auto()
    ERROR = auto()


@dataclass(frozen=True, slots=True)
class Said:
    answer: Answer
    message: str = ""
    retry_after: float | None = None
    causes: str = ""
    """The words of its causes."""
    by_budget: bool = False
    """Whether it says itself that a budget refuses."""


def understand(error: KubeError) -> Said:
    message, after = str(error), getattr(error, "retry_after", None)
    causes, by_budget = "", False
    if isinstance(error, ApiError):
        causes = " ".join(cause.message for cause in error.causes)
        by_budget = error.has_cause(_DISRUPTION_BUDGET)
    if isinstance(error, NotFound):
        answer = Answer.GONE
    elif isinstance(error, Conflict):
        answer = Answer.CONFLICT
    elif isinstance(error, TooManyRequests):
        answer = Answer.BUSY if after is not None and not by_budget else Answer.REFUSED
    elif isinstance(error, Forbidden) and error.has_cause(_NAMESPACE_TERMINATING):
        answer = Answer.LEAVING
    elif isinstance(error, Unreachable):
        answer = Answer.UNREACHABLE
    elif isinstance(error, ServerError) and TWO_BUDGETS not in message:
        answer = Answer.FAILED
    else:
        answer = Answer.ERROR
    return Said(answer, message, after, causes, by_budget)


def blamed(said: Said, covering: Sequence[BudgetPicture]) -> tuple[list[BudgetKey], bool]:
    """The budgets that a refusal comes from: those that it names, else the only one there is, else
    those whose numbers allow nothing. With whether that is certain: if not, something that nobody
    watches may have refused."""
    text = f"{said.message} {said.causes}"
    named = [one for one in covering if re.search(_WORD.format(re.escape(one.name)), text)]
    if said.by_budget and (named or len(covering) == 1):
        return [key_of(one) for one in named or covering], True
    return [key_of(one) for one in covering if allowed(one) <= 0], False


def explained(message: str, covering: Sequence[BudgetPicture]) -> str:
    """An error, in words that a person can act on."""
    if TWO_BUDGETS not in message:
        return message
    names = sorted(one.reference for one in covering if one.kind == PDB)
    return (
        f"{' and '.join(names)} cover it, and Kubernetes evicts no pod under "
        f"{TWO_BUDGETS}: delete one, or narrow its selector"
    )


def told_until(message: str, now: datetime) -> float | None:
    """In how many seconds the server itself says that its answer ends."""
    found = _UNTIL.search(message)
    if found is None:
        return None
    try:
        return max(0.0, (parse_time(found[1]) - now).total_seconds())
    except ValueError:
        return None
