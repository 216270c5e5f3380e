"""Replaces words, each by the same other word wherever it stands.

A name is replaced word by word, and its numbers stay: `web-0` is a pod of `web` before and after,
a ReplicaSet's name still ends in its hash, and a group is still part of the names of its pods.
"""

import re
from collections.abc import Collection
from string import ascii_lowercase

_WORD = re.compile(r"[A-Za-z0-9]+")


class Words:
    """The words of the original are learnt first. The replacements have the same order as these:
    what goes by name goes in the same order before and after."""

    def __init__(self, kept: Collection[str] = ()) -> None:
        self._kept = frozenset(kept)
        self._known: set[str] = set()
        self._new: dict[str, str] = {}
        self._taken: set[str] = set()

    def learn(self, text: str) -> None:
        """No replacement will be one of these words."""
        self._known.update(word.lower() for word in _WORD.findall(text))
        self._new.clear()

    def replaced(self, text: str) -> str:
        return _WORD.sub(lambda match: self._word(match[0]), text)

    def _word(self, word: str) -> str:
        if word.isdigit() or word in self._kept:
            return word
        if word.lower() not in self._new:
            self._known.add(word.lower())
            self._assign()
        known = self._new[word.lower()]
        # A kind begins with a capital letter, a name with none.
        return known.capitalize() if word[0].isupper() else known

    def _assign(self) -> None:
        left = [word for word in sorted(self._known) if word not in self._new]
        width = len(_letters(len(self._known))) + 1
        number = 0
        for word in left:
            while True:
                number += 1
                made = f"x{_letters(number):a>{width}}"
                if made not in self._known and made not in self._taken:
                    break
            self._new[word] = made
            self._taken.add(made)


def _letters(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number - 1, 26)
        text = ascii_lowercase[digit] + text
    return text
