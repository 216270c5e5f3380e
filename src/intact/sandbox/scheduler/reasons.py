"""Why a pod stays pending, in the words of kube-scheduler.

A reason that the removal of pods could end is resolvable: there, preemption would be tried.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""The pod's affinity names other nodes."""
PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
SPREAD = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL = f"{SPREAD} (missing required label)"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
NO_NODES = "no nodes available to schedule pods"

GANG = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or "
    "more plugins asked to wait and no plugin rejected pod"
)

_CLAIMS = "no new claims to deallocate"
"""What kube-scheduler's plugin for resource claims adds, even where there are none."""
NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


def insufficient(resource: str) -> str:
    return f"Insufficient {resource}"


@dataclass(slots=True)
class Refusals:
    """Why the nodes refused one pod: each node with all its reasons."""

    reasons: Counter[str] = field(default_factory=Counter)
    nodes: int = 0
    resolvable: int = 0
    """Nodes that could take the pod if other pods went."""
    is_of_gang: bool = False
    """A node would take the pod, but there is no room for its whole gang."""

    answers: Counter[str] | None = None
    """Why preemption does not help on the nodes where it could; None: no pod could go there."""
    nominated: str = ""
    """The node from which pods go for this one."""
    waits_for_victims: bool = False
    """Pods are going from its nominated node already."""

    def add(self, reasons: tuple[str, ...], *, resolvable: bool) -> None:
        self.reasons.update(reasons)
        self.nodes += 1
        self.resolvable += resolvable

    def is_about_room(self) -> bool:
        """Whether no node refused the pod because of what other pods are."""
        return not any(
            reason in self.reasons for reason in (SPREAD, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY)
        )

    def has_spread(self) -> bool:
        return SPREAD in self.reasons

    def message(self, *, preempts: bool = True) -> str:
        if self.is_of_gang:
            return GANG
        if not self.nodes:
            return NO_NODES
        text = _summary(self.nodes, self.reasons)
        if self.nominated and not self.waits_for_victims:
            return text
        if not preempts:
            return f"{text} {_CLAIMS}, preemption: not eligible due to preemptionPolicy=Never."
        if self.waits_for_victims:
            why = "not eligible due to a terminating pod on the nominated node."
            return f"{text} {_CLAIMS}, preemption: {why}"
        hopeless = self.nodes - self.resolvable
        tried = self.answers or {NO_VICTIMS: self.resolvable}
        answers = {**tried, _NOT_HELPFUL: hopeless}
        return f"{text} {_CLAIMS}, preemption: {_summary(self.nodes, answers)}"


def _summary(nodes: int, reasons: Mapping[str, int]) -> str:
    """Sorted as text: "10 …" stands before "9 …"."""
    listed = sorted(f"{number} {reason}" for reason, number in reasons.items() if number)
    return f"0/{nodes} nodes are available: {', '.join(listed)}."
