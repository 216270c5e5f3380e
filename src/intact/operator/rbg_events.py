"""Events on groups."""

from intact.kube.events import EventRecorder, EventType
from intact.kube.resources import RBGS
from intact.model.event import ObjectReference
from intact.model.rbg import RoleBasedGroup


class RbgEvents:
    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def say(self, group: RoleBasedGroup, type_: EventType, reason: str, message: str) -> None:
        meta = group.metadata
        reference = ObjectReference(
            api_version=RBGS.api_version,
            kind=RBGS.kind,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )
        self._events.record(reference, type_, reason, message)
