"""When a node must be empty: then it goes with all its pods, whatever budgets say.

The node says so itself, or the NodeClaim that Karpenter made it from: Karpenter writes the time
there when a node with a `terminationGracePeriod` is to go. If both do, the earlier time counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from intact.model.places import Node, NodeClaim
from intact.model.times import parse_time, timestamp

DRAIN_DEADLINE = "intact.dev/drain-deadline"
KARPENTER_DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp"
_WITH_ZONE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}.*([Zz]|[+-]\d{2}:\d{2})")
"""RFC 3339. A day, or a time without its zone, may be meant hours later than it would be read, and
a pod that has gone does not come back."""
_LONGEST = 64
"""Characters of a value that is not a time, in a message."""


@dataclass(frozen=True, slots=True)
class NodeDeadline:
    node: str
    at: datetime | None = None
    problem: str = ""
    """Which annotation is not a time."""

    def has_come(self, now: datetime) -> bool:
        return self.at is not None and self.at <= now

    @property
    def text(self) -> str:
        """`node a must be empty by 2026-01-31T12:00:00Z`."""
        return f"node {self.node} must be empty by {timestamp(self.at)}" if self.at else ""


def deadline_of(node: Node, claim: NodeClaim | None = None) -> NodeDeadline | None:
    """None if neither the node nor its NodeClaim has one."""
    name = node.metadata.name
    claimed = claim.metadata.annotations if claim is not None else {}
    times, problems = [], []
    for whose, key, text in _given(name, node.metadata.annotations, claimed):
        try:
            times.append(_time_of(text))
        except ValueError:
            value = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
            problems.append(f"{key} of {whose} is {value!r}, not a time like 2026-01-31T12:00:00Z")
    if not times and not problems:
        return None
    return NodeDeadline(name, min(times, default=None), "; ".join(problems))


def _time_of(text: str) -> datetime:
    if not _WITH_ZONE.fullmatch(text):
        raise ValueError(f"{text} is no time with a zone")
    return parse_time(text.upper())


def _given(
    node: str, annotations: Mapping[str, str], claimed: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    for key in (DRAIN_DEADLINE, KARPENTER_DEADLINE):
        if key in annotations:
            yield f"the node {node}", key, annotations[key]
    if KARPENTER_DEADLINE in claimed:
        yield f"the NodeClaim of {node}", KARPENTER_DEADLINE, claimed[KARPENTER_DEADLINE]
