"""What the API server refuses of a RoleBasedGroup: told once, and tried again with backoff.

A problem is of one part: a role, the ConfigMap, the revision, a rollback. Its part is tried again
after 2 s, later and later up to 30 s, and at once when the spec changes. What happens to other
parts does not bring the next try forward. A problem is one event: written when it begins, and with
a higher count when its text changes.
"""

import asyncio
import random
from collections.abc import Container
from dataclasses import dataclass

from intact.kube.retry import Backoff
from intact.kube.store import Key, key_of
from intact.model.rbg import RoleBasedGroup
from intact.operator.rbg.events import RbgEvents

AGAIN = Backoff(first=2.0, most=30.0)
_EARLY = 0.05
"""Seconds: a timer may ring a little early."""


@dataclass(frozen=True, slots=True)
class _Problem:
    uid: str
    generation: int
    text: str
    failures: int = 0
    due: float | None = None


class RbgProblems:
    def __init__(self, events: RbgEvents, rng: random.Random | None = None) -> None:
        self._events = events
        self._rng = rng or random.Random()
        self._known: dict[Key, dict[str, _Problem]] = {}

    def waiting(self, group: RoleBasedGroup, part: str) -> str:
        """The text of the refusal, if it is too early to try the part again; else empty."""
        known = self._find(group, part)
        if known is None or known.due is None or known.generation != group.metadata.generation:
            return ""
        return known.text if _now() + _EARLY < known.due else ""

    def refused(self, group: RoleBasedGroup, part: str, reason: str, text: str) -> None:
        """A try has failed."""
        known = self._find(group, part)
        generation = group.metadata.generation
        same = known is not None and known.generation == generation
        failures = known.failures + 1 if known is not None and same else 1
        due = _now() + AGAIN.delay(failures, self._rng)
        self._say(group, part, reason, text)
        self._keep(group, part, _Problem(group.metadata.uid, generation, text, failures, due))

    def tell(self, group: RoleBasedGroup, part: str, reason: str, text: str) -> None:
        """Of a problem that is not tried again from here."""
        self._say(group, part, reason, text)
        self._keep(group, part, _Problem(group.metadata.uid, group.metadata.generation, text))

    def solved(self, group: RoleBasedGroup, part: str) -> None:
        self._known.get(key_of(group), {}).pop(part, None)

    def again_in(self, group: RoleBasedGroup) -> float | None:
        """Seconds until the next part may be tried again. A part that is overdue was not wanted any
        more."""
        known = self._known.get(key_of(group), {}).values()
        left = [one.due - _now() for one in known if one.due is not None]
        return min((each for each in left if each > _EARLY), default=None)

    def keep(self, group: RoleBasedGroup, parts: Container[str]) -> None:
        """Forget problems of parts that the RoleBasedGroup has no more."""
        known = self._known.get(key_of(group), {})
        self._known[key_of(group)] = {
            part: one
            for part, one in known.items()
            if part in parts and one.uid == group.metadata.uid
        }

    def forget(self, key: Key) -> None:
        """The RoleBasedGroup is gone."""
        self._known.pop(key, None)

    def _find(self, group: RoleBasedGroup, part: str) -> _Problem | None:
        known = self._known.get(key_of(group), {}).get(part)
        return known if known is not None and known.uid == group.metadata.uid else None

    def _keep(self, group: RoleBasedGroup, part: str, problem: _Problem) -> None:
        self._known.setdefault(key_of(group), {})[part] = problem

    def _say(self, group: RoleBasedGroup, part: str, reason: str, text: str) -> None:
        known = self._find(group, part)
        if known is None or known.text != text:
            self._events.say(group, "Warning", reason, text, series=part)


def _now() -> float:
    return asyncio.get_running_loop().time()
