"""Events on RoleBasedGroups."""

from intact.kube.events import EventRecorder, EventType, reference_to
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup


class RbgEvents:
    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def say(self, group: RoleBasedGroup, type_: EventType, reason: str, message: str) -> None:
        self._events.record(reference_to(RBGS, group.metadata), type_, reason, message)
