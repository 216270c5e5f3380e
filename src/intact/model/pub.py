"""PodUnavailableBudget, of policy.kruise.io/v1alpha1."""

from functools import cached_property

import msgspec

from intact.model.amounts import IntOrPercent
from intact.model.base import View
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


class ContainerMark(View):
    """A container as it was when its change was admitted."""

    container_id: str = ""
    image_id: str = ""
    image: str = ""
    wanted: str = ""
    """The image that the change asks for; empty if it asks for other resources."""


class LedgerRecord(View):
    """A disruption of one pod that was admitted and not yet seen to have happened."""

    name: str
    operation: str
    at: str
    resource_version: str
    group: str | None = None
    containers: dict[str, ContainerMark] = {}
    """For an in-place change: the containers that it restarts."""


class Ledger(View):
    """What the gate needs beside the counters. Records are by UID: names come back."""

    pods: dict[str, LedgerRecord] = {}
    unavailable_groups: list[str] = []
    surplus: dict[str, int] = {}
    """Available pods above the need, of groups that have any."""
    released: list[str] = []
    """UIDs of owners that want no pods any more: theirs are free to go."""
    seen: str = ""
    """The resource version of the pods that the last recount looked at."""


UNREADABLE = Ledger()
"""Stands for a ledger that somebody has spoilt: nothing is allowed on it."""


class PubStatus(View, dict=True, gc=True):
    observed_generation: int = 0
    unavailable_allowed: int = 0
    current_available: int = 0
    desired_available: int = 0
    total_replicas: int = 0
    unavailable_replicas: int = 0
    disrupted_pods: dict[str, str] = {}
    unavailable_pods: dict[str, str] = {}
    conditions: list[Condition] = []
    ledger_text: str = msgspec.field(default="", name="ledger")
    """JSON, stored as one string: the API server validates and tracks every field of an object,
    which for some hundred records takes it ten times as long."""

    @cached_property
    def ledger(self) -> Ledger:
        if not self.ledger_text:
            return Ledger()
        try:
            return _LEDGER.decode(self.ledger_text)
        except msgspec.DecodeError:
            return UNREADABLE

    def with_ledger(self, ledger: Ledger, *, written: bool = False) -> "PubStatus":
        """Its text is written for what is stored: many decisions may go into one write."""
        text = msgspec.json.encode(ledger).decode() if written else _UNWRITTEN
        made = msgspec.structs.replace(self, ledger_text=text)
        made.__dict__["ledger"] = ledger
        return made


_LEDGER = msgspec.json.Decoder(Ledger)
_UNWRITTEN = "unwritten"
"""Not JSON: whoever reads it by mistake allows nothing."""


class PodUnavailableBudget(View):
    metadata: ObjectMeta
    spec: PubSpec = PubSpec()
    status: PubStatus = PubStatus()
