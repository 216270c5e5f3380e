"""Whose turn it is, of several nodes that are drained in their order.

Without a pause, a node begins as soon as one before it is done. With a pause, as many as may go at
once go together, and the pause begins when the last of them is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Turns:
    nodes: Sequence[str]
    parallel: int | None = None
    pause: float = 0.0
    done: set[str] = field(default_factory=set)
    resumes: float | None = None
    """When the pause ends; None if there is none now."""
    _begun: int = 0

    @property
    def active(self) -> list[str]:
        """Those that have begun and are not done, in their order."""
        return [node for node in self.nodes[: self._begun] if node not in self.done]

    @property
    def begun(self) -> Sequence[str]:
        return self.nodes[: self._begun]

    @property
    def is_over(self) -> bool:
        return len(self.done) == len(self.nodes)

    def finish(self, node: str) -> None:
        self.done.add(node)

    def advance(self, now: float) -> bool:
        """Let nodes begin whose turn it is; whether any does, or a pause begins."""
        most = self.parallel or len(self.nodes)
        if self._begun == len(self.nodes):
            return False
        if self.pause and self._begun:
            if self.active:
                return False
            if self.resumes is None:
                self.resumes = now + self.pause
                return True
            if now < self.resumes:
                return False
            self.resumes = None
        before = self._begun
        self._begun = min(len(self.nodes), before + most - len(self.active))
        return self._begun > before
