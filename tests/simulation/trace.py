"""What happened in a run: the last events in words, a digest of all of them, and counts."""

import asyncio
import hashlib
from collections import Counter, deque

_KEPT = 50


class Trace:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last: deque[str] = deque(maxlen=_KEPT)
        self._digest = hashlib.blake2b(digest_size=8)

    @property
    def digest(self) -> str:
        """Equal for two runs with the same events."""
        return self._digest.hexdigest()

    def note(self, what: str) -> None:
        line = f"{asyncio.get_running_loop().time():9.3f} {what}"
        self.last.append(line)
        self._digest.update(line.encode())

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] += number
