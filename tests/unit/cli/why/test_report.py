"""Exit codes, and what is said of what could not be read."""

import pytest

from intact.cli.why.report import MAY_GO, report, said_by, strictest
from intact.picture.reasons import Word

PDBS = "poddisruptionbudgets.policy"


@pytest.mark.parametrize(("word", "code"), [(Word.MAY_GO, 0), (Word.WAITS, 3), (Word.NEVER, 4)])
def test_the_exit_code_says_how_it_stands(word: Word, code: int) -> None:
    found = report(["a"], {"kind": "pod"}, word, {})
    assert found.exit_code == code
    assert found.document == {
        "kind": "pod",
        "verdict": str(word),
        "exitCode": code,
        "unreadable": {},
    }


def test_what_could_not_be_read_is_said() -> None:
    found = report(["a"], {}, Word.WAITS, {"nodes": "forbidden"})
    assert found.lines == ["a", "not read: nodes (forbidden)"]
    assert found.exit_code == 3


def test_without_the_budgets_nobody_knows_that_it_may_go() -> None:
    found = report(["a", MAY_GO], {}, Word.MAY_GO, {PDBS: "forbidden"})
    assert found.lines == [
        "a",
        f"not read: {PDBS} (forbidden)",
        "Whether it may go is not known: budgets could not be read.",
    ]
    assert (found.exit_code, found.document["verdict"]) == (1, None)


def test_a_budget_that_holds_it_does_so_whatever_else_there_is() -> None:
    assert report([], {}, Word.WAITS, {PDBS: "forbidden"}).exit_code == 3


def test_the_words_are_below_each_other() -> None:
    assert said_by([("pub/llm", "a long text", "waits"), ("pdb/x", "", "may go")]) == [
        "  pub/llm   a long text   waits",
        "  pdb/x                   may go",
    ]


def test_the_strictest_of_nothing_is_that_it_may_go() -> None:
    assert strictest([]) is Word.MAY_GO
    assert strictest([Word.WAITS, Word.NEVER, Word.MAY_GO]) is Word.NEVER
