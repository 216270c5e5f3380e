"""The kinds of objects that the server knows, and the rules in which they differ.

A `Kind` with its defaults behaves as one that a CustomResourceDefinition declares. The built-in
kinds are in `builtin.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from intact.sandbox.api.objects import Json

if TYPE_CHECKING:
    from intact.sandbox.api.failures import FieldError


Find = Callable[[str, str, str], Json | None]
"""From the full name of a kind, a namespace and a name to the object that is stored."""


class NameRule(Enum):
    LABEL = auto()
    SUBDOMAIN = auto()


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a kind keeps what its scale subresource shows."""

    spec_replicas: str = "spec.replicas"
    status_replicas: str = "status.replicas"
    selector: str = ""
    """A path to a string, or to a LabelSelector that is turned into one."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    group: str
    version: str
    """The version that objects are stored in."""
    plural: str
    kind: str
    namespaced: bool = True
    custom: bool = True
    more_versions: tuple[str, ...] = ()
    status: bool = False
    """Has a status subresource."""
    status_writes_metadata: bool = False
    """Built-in kinds store the labels and annotations that come with a write to /status."""
    keeps_status_on_create: bool = False
    initial_status: Mapping[str, Any] = field(default_factory=dict)
    zero_status: Mapping[str, Any] = field(default_factory=dict)
    """The zeros that a typed status always shows."""
    scale: Scale | None = None
    resize: bool = False
    generation: bool = True
    generation_covers_annotations: bool = False
    graceful: bool = False
    """DELETE only marks the object, and the kubelet ends it: pods."""
    unconditional_update: bool = False
    create_on_update: bool = False
    returns_deleted: bool = False
    """DELETE answers with the object rather than with a Status."""
    garbage_collected: bool = True
    """Knows the orphan and foregroundDeletion finalizers."""
    strategic: bool = False
    """Accepts strategic merge patches."""
    name_rule: NameRule = NameRule.SUBDOMAIN
    selectable_fields: tuple[str, ...] = ()
    """Field selectors besides metadata.name and metadata.namespace."""
    default: Callable[[Json], None] | None = None
    """Fills in what the server defaults."""
    unknown: tuple[str, ...] = ()
    """Fields that only a later server knows, by path: they are dropped."""
    errors: "Callable[[Json], list[FieldError]] | None" = None
    """What is wrong with an object, besides its metadata."""
    admit_new: Callable[[Find, Json], None] | None = None
    """Completes a new object by what other objects say, or refuses it, before any hook is
    asked."""
    short_names: tuple[str, ...] = ()
    versions: tuple[str, ...] = field(init=False)
    full_name: str = field(init=False)
    """As people write it: `pods`, `leases.coordination.k8s.io`."""
    group_kind: str = field(init=False)
    """As errors write it: `Pod`, `Lease.coordination.k8s.io`."""

    def __post_init__(self) -> None:
        dotted = f".{self.group}" if self.group else ""
        object.__setattr__(self, "versions", (self.version, *self.more_versions))
        object.__setattr__(self, "full_name", self.plural + dotted)
        object.__setattr__(self, "group_kind", self.kind + dotted)

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    def api_version(self, version: str = "") -> str:
        version = version or self.version
        return f"{self.group}/{version}" if self.group else version

    @property
    def subresources(self) -> tuple[str, ...]:
        found = [
            ("status", self.status),
            ("scale", self.scale is not None),
            ("resize", self.resize),
            ("eviction", self.full_name == "pods"),
            ("binding", self.full_name == "pods"),
        ]
        return tuple(name for name, served in found if served)

    def key(self, namespace: str, name: str) -> str:
        """Under which an object is stored."""
        return f"{namespace}/{name}" if self.namespaced else name

    def storage_key(self, key: str) -> str:
        """How etcd would name the object; error messages show it."""
        prefix = f"{self.group}/{self.plural}" if self.custom else self.plural
        return f"/registry/{prefix}/{key}"


class Registry:
    """The kinds that are served, by group and plural."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self._kinds: dict[tuple[str, str], Kind] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def add(self, kind: Kind) -> None:
        self._kinds[kind.group, kind.plural] = kind

    def remove(self, full_name: str) -> None:
        plural, _, group = full_name.partition(".")
        self._kinds.pop((group, plural), None)

    def serves(self, group: str) -> bool:
        return any(served == group for served, _plural in self._kinds)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        kind = self._kinds.get((group, plural))
        return kind if kind is not None and version in kind.versions else None

    def of_group(self, group: str, plural: str) -> Kind | None:
        """Whatever its versions are."""
        return self._kinds.get((group, plural))

    def named(self, full_name: str) -> Kind:
        """By its full name, as in `poddisruptionbudgets.policy`."""
        plural, _, group = full_name.partition(".")
        return self._kinds[group, plural]
