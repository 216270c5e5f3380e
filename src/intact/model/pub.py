"""PodUnavailableBudget, of policy.kruise.io: v1alpha1 and v1beta1 have the same fields."""

from typing import Any

import msgspec

from intact.model.amounts import IntOrPercent
from intact.model.base import View, read_leniently
from intact.model.meta import Condition, LabelSelector, ObjectMeta


class TargetReference(View):
    api_version: str = ""
    kind: str = ""
    name: str = ""


class PodGroupPolicy(View):
    group_label_key: str
    min_ready_replicas: int | None = None


class PubSpec(View):
    selector: LabelSelector | None = None
    target_ref: TargetReference | None = None
    max_unavailable: IntOrPercent | None = None
    min_available: IntOrPercent | None = None
    pod_group_policy: PodGroupPolicy | None = None
    protect_operations: list[str] = []
    protect_total_replicas: int | None = None
    ignored_pod_selector: LabelSelector | None = None


class ContainerMark(View):
    """A container as it was when the gate admitted its change."""

    container_id: str = ""
    image_id: str = ""
    image: str = ""
    wanted: str = ""
    """The image that the change asks for; empty if it asks for other resources."""


class LedgerRecord(View):
    """A disruption of one pod that the gate has admitted and no recount has seen happen yet."""

    name: str
    operation: str
    at: str
    resource_version: str
    group: str | None = None
    containers: dict[str, ContainerMark] = {}
    """For an in-place change: the containers that it restarts."""


class KeptPods(View):
    """The pods of an owner that does not say how many it wants."""

    pods: int = 0
    """How many it is expected to have."""
    gone: dict[str, int] = {}
    """How many of these are gone without a successor, by since when."""


class LedgerStay(View):
    """A pod that was admitted to go, or to change, and did not."""

    operation: str
    at: str
    """When this was noticed."""
    times: int = 1
    """How often in a row."""


class Ledger(View):
    """What the gate needs beside the counters. Records are by UID: a name may come back."""

    pods: dict[str, LedgerRecord] = {}
    unavailable_groups: list[str] = []
    let_go: list[str] = []
    """Those of them that are unavailable because the budget let a pod go."""
    held: dict[str, str] = {}
    """Those that are unavailable only because of records, as none of their pods has gone or changed
    yet, with the time of the oldest such record."""
    surplus: dict[str, int] = {}
    """Available pods above the need, by group; only groups that have any."""
    released: list[str] = []
    """UIDs of owners that want no pods any more: the pods of these owners are free to go."""
    scaled_in: dict[str, tuple[int, int]] = {}
    """By UID, StatefulSets that still have pods which they do not want any more, with the first
    ordinal that they want and the first one after: all other pods are free to go."""
    idle: int = 0
    """Available units of these owners. The counters show them; they are no stock for others."""
    seen: str = ""
    """The resource version of the pods that the last recount looked at."""
    reached: bool = False
    """In group mode: some group was seen with as many pods as it needs. Until then every pod is a
    unit of its own."""
    kept: dict[str, KeptPods] = {}
    """By the UIDs of owners that do not say how many pods they want; empty for no owner."""
    rules: str = ""
    """The settings that the last recount was for."""
    stayed: dict[str, LedgerStay] = {}
    """Pods whose turn has passed: others go first."""


UNREADABLE = Ledger()
"""Stands for a ledger whose stored text cannot be read: the gate allows nothing on it."""


def read_ledger(text: object) -> Ledger:
    """`UNREADABLE` for anything but the text of a ledger; an empty one for an empty text."""
    if text == "":
        return Ledger()
    try:
        return _LEDGER.decode(text) if isinstance(text, str) else UNREADABLE
    except (msgspec.DecodeError, RecursionError):  # nested too deeply to be read
        return UNREADABLE


def write_ledger(ledger: Ledger) -> str:
    return msgspec.json.encode(ledger).decode()


_LEDGER = msgspec.json.Decoder(Ledger)


class PubStatus(View):
    observed_generation: int = 0
    unavailable_allowed: int = 0
    current_available: int = 0
    desired_available: int = 0
    total_replicas: int = 0
    unavailable_replicas: int = 0
    disrupted_pods: dict[str, str] = {}
    unavailable_pods: dict[str, str] = {}
    conditions: list[Condition] = []
    ledger_or_text: Any = msgspec.field(default="", name="ledger")
    """The ledger. What is stored has its text in this place, and nothing else may be decoded as a
    ledger: hence the type.

    The text is JSON in one string: the API server validates and tracks every field of an object,
    which for some hundred records takes it ten times as long. It is read once, when the status is
    decoded, and written once for each status that is stored (`stored_form`): many decisions may go
    into one write.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.ledger_or_text, Ledger):
            ledger = read_ledger(self.ledger_or_text)
            msgspec.structs.force_setattr(self, "ledger_or_text", ledger)

    @property
    def ledger(self) -> Ledger:
        found: Ledger = self.ledger_or_text
        return found

    def with_ledger(self, ledger: Ledger) -> "PubStatus":
        return msgspec.structs.replace(self, ledger_or_text=ledger)

    def stored_form(self) -> dict[str, Any]:
        """As the API server stores it, with the text of the ledger."""
        # Without its ledger, which would be turned into a dict for nothing.
        form: dict[str, Any] = msgspec.to_builtins(self.with_ledger(Ledger()))
        return form | {"ledger": write_ledger(self.ledger)}


class PodUnavailableBudget(View):
    metadata: ObjectMeta
    spec: PubSpec = PubSpec()
    status: PubStatus = PubStatus()
    problems: list[str] = msgspec.field(default=[], name="intact.dev/problems")
    """What could not be read of the metadata and the spec. Nothing that is stored has this field,
    nor the next one: `salvage` sets them."""
    damages: list[str] = msgspec.field(default=[], name="intact.dev/damages")
    """What could not be read of the status."""


_SHOWN = frozenset({"disruptedPods", "unavailablePods", "conditions"})
"""Fields of the status on which nothing is decided."""


def salvage(raw: bytes | msgspec.Raw) -> PodUnavailableBudget:
    """A budget that is stored in another shape than the one that Intact writes: everything of it
    that can be read, and what cannot. It must hold its pods, and not vanish. Raises
    `msgspec.DecodeError` if it is no object at all."""
    found = msgspec.json.decode(raw, type=dict[str, Any])
    meta, problems = read_leniently(ObjectMeta, found.get("metadata"), "metadata")
    spec, more = read_leniently(PubSpec, found.get("spec"), "spec")
    status, damages = read_leniently(PubStatus, found.get("status"), "status")
    if any(each.partition(":")[0].removeprefix("status.") not in _SHOWN for each in damages):
        # The gate allows nothing before the next recount has replaced what cannot be read.
        status = msgspec.structs.replace(status, observed_generation=0)
    return PodUnavailableBudget(
        metadata=meta, spec=spec, status=status, problems=problems + more, damages=damages
    )
