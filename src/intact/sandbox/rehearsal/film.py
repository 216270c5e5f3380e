"""The course of a rehearsal in a file: the objects at the start, and what changed when.

A frame is the cluster as it was at one moment. Each version of an object is read once; frames share
it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec

from intact.model.times import micro_timestamp
from intact.picture.objects import Objects
from intact.sandbox.snapshot.as_objects import Part, assembled, part_of
from intact.sandbox.snapshot.compressed import DamagedError, read_file
from intact.sandbox.snapshot.document import Unreadable

FORMAT = "intact-film"
VERSION = 1

Key: TypeAlias = tuple[str, str, str]
"""The full name of the kind, the namespace and the name."""


class FilmError(Exception):
    """The file is no film that this version of Intact reads. It says which file, and why."""


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Evictions of one pod that were refused, one after the other, with the same words."""

    at: float
    """Seconds since the work began: of the first one."""
    until: float
    """Of the last one."""
    namespace: str
    pod: str
    uid: str
    node: str
    """That is drained."""
    why: str
    times: int = 1


class Change(msgspec.Struct):
    """What differs from the moment before."""

    at: float
    objects: dict[str, list[msgspec.Raw]] = {}
    """Added or modified, by the full name of their kind."""
    gone: list[Key] = []


class Recorded(msgspec.Struct, kw_only=True):
    """The document."""

    format: str = ""
    version: int = 0
    action: str = ""
    intact: bool = False
    began: datetime | None = None
    unreadable: list[Unreadable] = []
    objects: dict[str, list[msgspec.Raw]] = {}
    changes: list[Change] = []
    refusals: list[Refusal] = []


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment."""

    seconds: float
    """Since the work began."""
    now: datetime
    """Of the simulated clock, by which the objects are stamped."""
    objects: Objects
    refusals: Sequence[Refusal] = ()
    """Of evictions since the frame before."""


@dataclass(frozen=True, slots=True)
class _Moment:
    at: float
    put: Mapping[Key, Part]
    gone: Sequence[Key] = ()


@dataclass(frozen=True, slots=True)
class Film:
    action: str
    """drain, upgrade or rollout."""
    began: datetime
    intact: bool
    """Whether Intact ran in the rehearsal."""
    refusals: Sequence[Refusal]
    """All, in their order."""
    _moments: Sequence[_Moment] = field(repr=False)
    _unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """How many frames there are: at least one, the start."""
        return len(self._moments)

    @property
    def seconds(self) -> Sequence[float]:
        """When each frame is."""
        return [each.at for each in self._moments]

    def at(self, index: int) -> Frame:
        """The first is 0. Raises `IndexError`."""
        if not 0 <= index < self.length:
            raise IndexError(f"the film has no frame {index}: it has {self.length}")
        parts: dict[Key, Part] = {}
        for moment in self._moments[: index + 1]:
            _apply(moment, parts)
        return self._frame(index, parts)

    def frames(self) -> Iterator[Frame]:
        parts: dict[Key, Part] = {}
        for index, moment in enumerate(self._moments):
            _apply(moment, parts)
            yield self._frame(index, parts)

    def _frame(self, index: int, parts: Mapping[Key, Part]) -> Frame:
        at = self._moments[index].at
        return Frame(
            seconds=at,
            now=self.began + timedelta(seconds=at),
            objects=assembled(parts.values(), intact=self.intact, unreadable=self._unreadable),
            refusals=self._refused(index),
        )

    def _refused(self, index: int) -> list[Refusal]:
        if not index:
            return []  # the start is before all that happens, also in its second
        until, since = self._moments[index].at, self._moments[index - 1].at
        return [
            one
            for one in self.refusals
            if one.at <= until and (one.until > since or (index == 1 and one.until == since))
        ]


def _apply(moment: _Moment, parts: dict[Key, Part]) -> None:
    for key in moment.gone:
        parts.pop(key, None)
    parts.update(moment.put)


def encode(film: Recorded) -> bytes:
    assert film.began is not None
    body = msgspec.structs.asdict(film) | {"began": micro_timestamp(film.began)}
    return msgspec.json.encode(body) + b"\n"


def read_film(path: Path) -> Film:
    """Raises `FilmError`, also if the file cannot be read."""
    try:
        return decode(read_file(path))
    except (FilmError, DamagedError) as error:
        raise FilmError(f"{path}: {error}") from None
    except OSError as error:
        raise FilmError(f"{path}: {error.strerror or error}") from None


def decode(body: bytes) -> Film:
    """Raises `FilmError`."""
    try:
        found = msgspec.json.decode(body, type=Recorded)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FilmError(f"this is no film: {error}") from None
    if found.format != FORMAT:
        raise FilmError(f"this is no film: its format is {found.format!r}, not {FORMAT!r}")
    if found.version != VERSION:
        raise FilmError(
            f"the film has version {found.version}; this version of Intact reads {VERSION}"
        )
    if found.began is None:
        raise FilmError("the film is damaged: it does not say when it began")
    times = [0.0, *(each.at for each in found.changes)]
    began = found.began.astimezone(UTC)
    refused = [at for each in found.refusals for at in (each.at, each.until)]
    longest = max([*times, *refused], key=abs)
    try:
        began + timedelta(seconds=longest)
    except OverflowError:
        raise FilmError(f"the film is damaged: nothing is {longest} seconds long") from None
    if times != sorted(times):
        raise FilmError("the film is damaged: its changes are not in the order of their times")
    return Film(
        action=found.action,
        began=began,
        intact=found.intact,
        refusals=sorted(found.refusals, key=lambda one: one.at),
        _moments=[
            _Moment(0.0, dict(_parts(found.objects))),
            *(_Moment(each.at, dict(_parts(each.objects)), each.gone) for each in found.changes),
        ],
        _unreadable={each.resource: each.why for each in found.unreadable},
    )


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""


class _Named(msgspec.Struct):
    metadata: _Meta


def _parts(objects: Mapping[str, Iterable[msgspec.Raw]]) -> Iterator[tuple[Key, Part]]:
    for full_name, bodies in objects.items():
        for body in bodies:
            try:
                meta = msgspec.json.decode(body, type=_Named).metadata
            except (msgspec.DecodeError, RecursionError) as error:
                raise FilmError(f"the film is damaged: {full_name}: {error}") from None
            part = part_of(full_name, msgspec.json.decode(body))
            yield (full_name, meta.namespace, meta.name), part
