"""Metadata that every object has."""

from typing import TYPE_CHECKING, Protocol

import msgspec

from intact.model.base import View

if TYPE_CHECKING:
    _Time = str
else:
    _Time = str | None
"""As a view gives it; the API server writes null for Go's zero time."""


class OwnerReference(View):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool | None = None


class ObjectMeta(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


def api_group(api_version: str) -> str:
    """Empty for the core group."""
    return api_version.rpartition("/")[0]


class LabelSelectorRequirement(View):
    key: str
    operator: str
    values: list[str] = []


class LabelSelector(View):
    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


class Condition(View):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: _Time = ""
    observed_generation: int = 0

    def __post_init__(self) -> None:
        if not self.last_transition_time:
            msgspec.structs.force_setattr(self, "last_transition_time", "")


class Metadata(Protocol):
    """What the Kubernetes layer itself needs of an object's metadata."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class Object(Protocol):
    """Any object that can be kept in a store."""

    @property
    def metadata(self) -> Metadata: ...


class ListMeta(View):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
