"""The file: what it says about itself and the cluster, and the objects by kind."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from intact.model.times import timestamp
from intact.sandbox.snapshot.compressed import DamagedError, read_file, write_file

Json: TypeAlias = dict[str, Any]

FORMAT = "intact-snapshot"
VERSION = 1


class SnapshotError(Exception):
    """The file is no snapshot that this version of Intact reads."""


@dataclass(slots=True)
class KindInfo:
    """One kind of objects, as the cluster serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    scaled: bool = False
    """Has a scale subresource."""

    @property
    def full_name(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(slots=True)
class Unreadable:
    """Something that the user of the snapshot was not allowed to read."""

    resource: str
    why: str


@dataclass(slots=True)
class Snapshot:
    time: datetime
    server_version: str = ""
    intact: bool | None = None
    """Whether Intact's webhooks are registered; None if that could not be read."""
    anonymized: bool = False
    unreadable: list[Unreadable] = field(default_factory=list)
    kinds: list[KindInfo] = field(default_factory=list)
    objects: dict[str, list[Json]] = field(default_factory=dict)
    """By the full name of their kind."""

    def of(self, full_name: str) -> list[Json]:
        return self.objects.get(full_name, [])

    def all(self) -> Iterator[tuple[KindInfo, Json]]:
        for kind in self.kinds:
            for obj in self.of(kind.full_name):
                yield kind, obj


class _File(msgspec.Struct, rename="camel"):
    format: str = ""
    version: int = 0
    time: datetime | None = None
    server_version: str = ""
    intact: bool | None = None
    anonymized: bool = False
    unreadable: list[Unreadable] = []
    kinds: list[KindInfo] = []
    objects: dict[str, list[Json]] = {}


def encode(snapshot: Snapshot) -> bytes:
    body = {
        "format": FORMAT,
        "version": VERSION,
        "time": timestamp(snapshot.time),
        "serverVersion": snapshot.server_version,
        "intact": snapshot.intact,
        "anonymized": snapshot.anonymized,
        "unreadable": snapshot.unreadable,
        "kinds": snapshot.kinds,
        "objects": snapshot.objects,
    }
    return msgspec.json.encode(body) + b"\n"


def decode(body: bytes) -> Snapshot:
    """Raises `SnapshotError`."""
    try:
        found = msgspec.json.decode(body, type=_File)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotError(f"this is no snapshot: {error}") from None
    if found.format != FORMAT:
        raise SnapshotError(f"this is no snapshot: its format is {found.format!r}, not {FORMAT!r}")
    if found.version != VERSION:
        raise SnapshotError(
            f"the snapshot has version {found.version}; this version of Intact reads {VERSION}"
        )
    if found.time is None:
        raise SnapshotError("the snapshot is damaged: it does not say when it was taken")
    _check(found)
    return Snapshot(
        time=found.time.astimezone(UTC),
        server_version=found.server_version,
        intact=found.intact,
        anonymized=found.anonymized,
        unreadable=found.unreadable,
        kinds=found.kinds,
        objects=found.objects,
    )


class _Meta(msgspec.Struct):
    name: str
    uid: str
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta
    kind: str
    api_version: str = msgspec.field(name="apiVersion")
    status: _Status | None = None


class _PodSpec(msgspec.Struct):
    containers: list[Json]


class _Pod(_Object, kw_only=True):
    spec: _PodSpec


def _check(file: _File) -> None:
    """Each object has what every cluster gives it. Raises `SnapshotError`."""
    kinds = {kind.full_name for kind in file.kinds}
    for full_name, objects in file.objects.items():
        if full_name not in kinds:
            raise SnapshotError(f"this is no snapshot: it does not say what {full_name} are")
        view = list[_Pod] if full_name == "pods" else list[_Object]
        try:
            msgspec.convert(objects, view)
        except msgspec.ValidationError as error:
            raise SnapshotError(f"the snapshot is damaged: {full_name}: {error}") from None


def write(snapshot: Snapshot, file: Path) -> None:
    """Compressed if the name ends in .gz. Raises `OSError`."""
    write_file(encode(snapshot), file)


def read(file: Path) -> Snapshot:
    """Raises `SnapshotError` and `OSError`."""
    try:
        return decode(read_file(file))
    except DamagedError as error:
        raise SnapshotError(str(error)) from None
