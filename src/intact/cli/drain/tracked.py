"""A pod that a drain is to take from its node, and what the drain says about it."""

from dataclasses import dataclass
from enum import Enum, auto

from intact.cli.drain.events import Event, What
from intact.cli.drain.refusals import Known
from intact.model.pod import DetailedPod


class State(Enum):
    WAITING = auto()
    LEAVING = auto()
    """It terminates, or will without being asked."""
    GONE = auto()
    FAILED = auto()


@dataclass(slots=True)
class Tracked:
    """A pod that is to go."""

    pod: DetailedPod
    state: State = State.WAITING
    group: str = ""
    message: str = ""
    """The last refusal, or error."""
    known: Known = ()
    """What was known when it failed."""

    @property
    def node(self) -> str:
        return self.pod.spec.node_name

    def about(self, what: What, message: str = "", budget: str = "") -> Event:
        meta = self.pod.metadata
        return Event(
            what,
            node=self.node,
            namespace=meta.namespace,
            pod=meta.name,
            uid=meta.uid,
            group=self.group,
            budget=budget,
            message=message,
        )
