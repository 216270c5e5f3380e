"""What a command says: lines for people, a document for programs, and an exit code."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intact.picture.reasons import Word, strictness

Json = dict[str, Any]
EXIT_CODES = {Word.MAY_GO: 0, Word.WAITS: 3, Word.NEVER: 4}
MAY_GO = "It may go now."
UNKNOWN = 1
"""The exit code if it cannot be told."""
_BUDGETS = ("poddisruptionbudgets.policy", "podunavailablebudgets.policy.kruise.io")


@dataclass(frozen=True, slots=True)
class Report:
    lines: Sequence[str]
    document: Json
    word: Word
    exit_code: int = 0


def report(
    lines: Sequence[str], document: Json, word: Word, unreadable: Mapping[str, str]
) -> Report:
    """With what could not be read. Without the budgets it is not known that a pod may go."""
    said = [f"not read: {name} ({why})" for name, why in sorted(unreadable.items())]
    unsure = word is Word.MAY_GO and any(name in unreadable for name in _BUDGETS)
    if unsure:
        said.append("Whether it may go is not known: budgets could not be read.")
    code = UNKNOWN if unsure else EXIT_CODES[word]
    whole = {
        **document,
        "verdict": None if unsure else str(word),
        "exitCode": code,
        "unreadable": dict(unreadable),
    }
    kept = [line for line in lines if not (unsure and line == MAY_GO)]
    return Report([*kept, *said], whole, word, code)


def strictest(words: Iterable[Word]) -> Word:
    return max(words, key=strictness, default=Word.MAY_GO)


def said_by(rows: Sequence[tuple[str, str, str]], indent: str = "  ") -> list[str]:
    """Lines with a name, a text and a word; the words are below each other."""
    left = [f"{indent}{name}   {text}" if text else f"{indent}{name}" for name, text, _word in rows]
    width = max(map(len, left), default=0)
    return [
        f"{each:<{width}}   {word}" for each, (_name, _text, word) in zip(left, rows, strict=True)
    ]
