"""The pod that a decision is about."""

from dataclasses import dataclass

from intact.budget.pub.node_deadline import NodeDeadline
from intact.model.pub import ContainerMark


@dataclass(frozen=True, slots=True)
class Subject:
    """The pod in question, as the gate knows it."""

    name: str
    uid: str
    resource_version: str
    available: bool
    ended: bool = False
    """Terminating or finished."""
    group: str | None = None
    """None if the budget counts pods, or the pod has no group."""
    owners: tuple[str, ...] = ()
    """UIDs of the owners above it, nearest first."""
    wanted_by: tuple[str, ...] = ()
    """UIDs of those of them that, as far as the gate knows, want pods."""
    unwanted: tuple[str, int] | None = None
    """The UID of the StatefulSet that, as far as the gate knows, no longer wants it or a pod that
    it hangs on, and the ordinal of that pod."""
    containers: dict[str, ContainerMark] | None = None
    deadline: NodeDeadline | None = None
    """Of its node. None if the node has none, or the pod is to stay there."""
    as_of: str | None = None
    """The pod version that the last recount had seen when the gate read the pod; None if the
    decision does not depend on it."""
