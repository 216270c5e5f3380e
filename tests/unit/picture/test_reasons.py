"""Words and reasons of verdicts."""

from intact.budget.pdb import group_decision
from intact.budget.pub import decision
from intact.picture.reasons import Reason, Word, strictness


def test_the_words_are_ordered_by_strictness() -> None:
    assert sorted(Word, key=strictness) == [Word.MAY_GO, Word.WAITS, Word.NEVER]


def test_what_the_gates_call_by_a_name_has_the_same_name_here() -> None:
    """A decision for a reason of the server's own process is none here."""
    process = {decision.Reason.LIVE_COUNT, decision.Reason.UNWRITABLE}
    gates = {*decision.Reason, *group_decision.Reason} - process
    assert {str(each) for each in gates} <= {str(each) for each in Reason}
