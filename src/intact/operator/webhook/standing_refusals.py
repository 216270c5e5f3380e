"""Refusals that still stand: the pods that a budget does not let go, and since when.

A refusal begins with the first denial of the pod. It ends when the pod goes, or when this process
has not been asked about it for ten minutes: then the client has given up, or asks another process.
Only what holds a pod counts: no dry runs, and no budgets that warn or audit.
"""

from collections.abc import Callable
from dataclasses import dataclass

from intact.model.event import ObjectReference

ASKED_WITHIN = 600.0
"""Seconds. A descheduler asks every five minutes; other clients ask more often."""
MOST = 4096
"""Refusals that are remembered. Those that have stood longest stay."""


@dataclass(slots=True)
class _Refusal:
    pod: ObjectReference
    since: float
    asked: float


class StandingRefusals:
    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], _Refusal] = {}
        """By the UIDs of the budget and the pod."""

    def note(self, budget: ObjectReference, pod: ObjectReference, now: float) -> None:
        """The budget has refused to let the pod go."""
        key = (budget.uid, pod.uid)
        known = self._refusals.get(key)
        if known is not None and now < known.asked + ASKED_WITHIN:
            known.asked = now
            return
        if known is None and len(self._refusals) >= MOST:
            self._keep(lambda refusal: now < refusal.asked + ASKED_WITHIN)
            if len(self._refusals) >= MOST:
                return
        self._refusals[key] = _Refusal(pod, since=now, asked=now)

    def oldest(self, now: float, is_there: Callable[[ObjectReference], bool]) -> dict[str, float]:
        """How many seconds the oldest refusal of each budget has stood, by the budget's UID.
        `is_there` says whether a pod has neither gone nor begun to go."""
        self._keep(
            lambda refusal: now < refusal.asked + ASKED_WITHIN and is_there(refusal.pod),
        )
        found: dict[str, float] = {}
        for (budget, _), refusal in self._refusals.items():
            found[budget] = max(found.get(budget, 0.0), now - refusal.since)
        return found

    def _keep(self, stands: Callable[[_Refusal], bool]) -> None:
        self._refusals = {key: one for key, one in self._refusals.items() if stands(one)}
