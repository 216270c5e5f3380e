"""Event, of the core API, as Intact writes it."""

from intact.model.base import View
from intact.model.meta import ObjectMeta


class ObjectReference(View):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class EventSource(View):
    component: str = ""


class Event(View):
    metadata: ObjectMeta
    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    source: EventSource = EventSource()
    reporting_component: str = ""
    reporting_instance: str = ""
