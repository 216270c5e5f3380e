"""Records the course of a rehearsal: sees every change at once, past the API, as the observer does,
and keeps at most one state for each half second."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json
from intact.sandbox.kubectl_drain import Step
from intact.sandbox.rehearsal.film import (
    FORMAT,
    VERSION,
    Change,
    Key,
    Recorded,
    Refusal,
    encode,
)
from intact.sandbox.rehearsal.stage import Stage
from intact.sandbox.snapshot.as_objects import NEVER_SHOWN, SHOWN
from intact.sandbox.snapshot.compressed import write_file
from intact.sandbox.snapshot.document import Snapshot

_GRAIN = 0.5
"""Seconds."""
_MADE_BY_CONTROLLERS = frozenset({"replicasets.apps", "statefulsets.apps"})


class Recording:
    def __init__(self) -> None:
        self.film = Recorded(format=FORMAT, version=VERSION)
        self._now: Callable[[], float] = lambda: 0.0
        self._kinds: frozenset[str] = frozenset()
        self._shown: set[Key] = set()
        """What the last moment has."""
        self._changed: dict[Key, Json | None] = {}
        """Since then. What is gone is None."""
        self._refused = False
        self._at = 0.0
        self._last_refusals: dict[str, int] = {}
        """By the UID of a pod: its place among the refusals."""
        self._end: Callable[[], None] = lambda: None

    def begin(self, stage: Stage, snapshot: Snapshot, action: str) -> None:
        """When the cluster is at rest: this is the start of the film."""
        film = self.film
        film.action, film.intact, film.began = action, stage.intact, stage.sandbox.clock()
        film.unreadable = snapshot.unreadable
        kinds = {kind.full_name for kind in snapshot.kinds} - NEVER_SHOWN
        self._kinds = frozenset(kinds | SHOWN.keys() | _MADE_BY_CONTROLLERS)
        self._now = stage.now
        self._end = stage.api.follow_all(self._on_change)
        film.objects = self._take().objects
        stage.steps.on_refused = self._on_refused

    def end(self) -> None:
        self._end()
        self._keep()

    def write(self, file: Path) -> None:
        """Compressed if the name ends in .gz. Raises `OSError`."""
        write_file(encode(self.film), file)

    def _on_change(self, kind: Kind, old: Json | None, new: Json | None) -> None:
        if kind.full_name not in self._kinds:
            return
        obj = new if new is not None else old
        assert obj is not None
        self._pass_to(self._now())
        meta = obj["metadata"]
        self._changed[kind.full_name, meta.get("namespace", ""), meta["name"]] = new

    def _on_refused(self, node: str, step: Step) -> None:
        now = round(self._now(), 3)
        refusals = self.film.refusals
        known = self._last_refusals.get(step.uid)
        if known is not None and refusals[known].why == step.why:
            last = refusals[known]
            refusals[known] = msgspec.structs.replace(last, until=now, times=last.times + 1)
            return
        self._pass_to(self._now())
        self._refused = True
        self._last_refusals[step.uid] = len(refusals)
        refusals.append(Refusal(now, now, step.namespace, step.name, step.uid, node, step.why))

    def _pass_to(self, now: float) -> None:
        """What changes in the same half second becomes one moment: that of the last change."""
        if now // _GRAIN != self._at // _GRAIN:
            self._keep()
        self._at = now

    def _keep(self) -> None:
        if self._changed or self._refused:
            taken = self._take()
            if taken.objects or taken.gone or self._refused:
                self.film.changes.append(taken)
        self._refused = False

    def _take(self) -> Change:
        taken = Change(round(self._at, 3), {}, [])
        for key, obj in self._changed.items():
            if obj is not None:
                self._shown.add(key)
                taken.objects.setdefault(key[0], []).append(_encoded(obj))
            elif key in self._shown:
                self._shown.remove(key)
                taken.gone.append(key)
        self._changed.clear()
        return taken


def _encoded(obj: Json) -> msgspec.Raw:
    meta = {name: each for name, each in obj["metadata"].items() if name != "managedFields"}
    return msgspec.Raw(msgspec.json.encode(obj | {"metadata": meta}))
