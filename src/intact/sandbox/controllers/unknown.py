"""Pods that do not come back: those without an owner, and those of kinds that have no controller
here. What such a kind would do is not guessed, but said."""

from collections.abc import Iterable

from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.controller import Controller
from intact.sandbox.controllers.owned import controller_of


class Owners:
    """The kinds of owners that the parts of a cluster know."""

    def __init__(self, parts: Iterable[object]) -> None:
        self._known = [part for part in parts if isinstance(part, Controller) and part.makes_pods]

    def why_lost(self, pod: Json) -> str:
        """Why the pod does not come back once it is gone; empty if it does."""
        owner = controller_of(pod)
        if owner is None:
            return "it has no controller that brings it back"
        if any(each.is_own_kind(owner) for each in self._known):
            return ""
        return f"what the controller of {owner['kind']} {owner['name']} does is not known"

    def is_named(self, kind: str) -> bool:
        """Whether one of them has this name, in whichever group."""
        return any(f"{kind.lower()}s" == each.kind.partition(".")[0] for each in self._known)
