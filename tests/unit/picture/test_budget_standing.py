"""What a budget says to any of its units."""

import msgspec
import pytest

from intact.model.pdb import PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget
from intact.picture.budget_standing import standing_of
from intact.picture.budget_verdict import BudgetVerdict
from intact.picture.reasons import Reason, Word
from tests.support.pictures import group, group_pdb, pdb, picture, pub

Budget = PodUnavailableBudget | PodDisruptionBudget


def said(
    budget: Budget,
    *,
    intact: bool | None = True,
    leading: bool | None = True,
    pods: bool = True,
) -> BudgetVerdict:
    is_pub = isinstance(budget, PodUnavailableBudget)
    objects = {"pubs": [budget]} if is_pub else {"pdbs": [budget]}
    there = [*group("shard-0"), *group("shard-1", ready=False)] if pods else []
    return standing_of(picture(*there, intact=intact, **objects).budgets[0], leading)


AUDIT = {"intact.dev/enforcement": "Audit"}
FAILED = [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "?"}]
UNREAD = msgspec.structs.replace(pub(), problems=["spec: no object"])
NOT_GATED = pub(working=("False", "NotGated", "nobody asks"))


@pytest.mark.parametrize(
    ("found", "word", "reason"),
    [
        (said(pub(allowed=1)), Word.MAY_GO, Reason.ALLOWED),
        (said(pub()), Word.WAITS, Reason.EXHAUSTED),
        (said(pub(maxUnavailable=0)), Word.NEVER, Reason.NEVER_ALLOWS),
        (said(pub(annotations=AUDIT)), Word.MAY_GO, Reason.NOT_ENFORCED),
        (said(pub(allowed=1), leading=False), Word.WAITS, Reason.INTACT_DOWN),
        (said(pub(), intact=False, leading=None), Word.MAY_GO, Reason.NOT_HELD),
        (said(NOT_GATED), Word.MAY_GO, Reason.NOT_HELD),
        (said(UNREAD), Word.NEVER, Reason.UNREADABLE),
        (said(pub(total=0, current=0), pods=False), Word.MAY_GO, Reason.NOT_HELD),
        (said(pdb(allowed=1)), Word.MAY_GO, Reason.ALLOWED),
        (said(pdb()), Word.WAITS, Reason.EXHAUSTED),
        (said(pdb(), leading=False), Word.WAITS, Reason.EXHAUSTED),
        (said(pdb(observed=0)), Word.WAITS, Reason.NOT_PROCESSED),
        (said(pdb(expected=0, conditions=FAILED)), Word.NEVER, Reason.NOT_COUNTED),
        (said(group_pdb()), Word.WAITS, Reason.EXHAUSTED),
        (said(group_pdb(), leading=False), Word.WAITS, Reason.INTACT_DOWN),
        (said(group_pdb(scope="Shard")), Word.NEVER, Reason.INVALID),
        (said(group_pdb(observed=0)), Word.WAITS, Reason.NOT_PROCESSED),
        (said(group_pdb(allowed=1), intact=False), Word.MAY_GO, Reason.ALLOWED),
    ],
)
def test_the_standing_has_a_word_and_a_reason(
    found: BudgetVerdict, word: Word, reason: Reason
) -> None:
    assert (found.word, found.reason) == (word, reason)
