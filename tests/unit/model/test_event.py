"""An Event, as it is written."""

import msgspec

from intact.model.event import Event, ObjectReference
from intact.model.meta import ObjectMeta


def test_an_event_names_what_it_is_about() -> None:
    event = Event(
        metadata=ObjectMeta(name="e"),
        involved_object=ObjectReference(api_version="v1", kind="Pod", name="p"),
        count=2,
    )
    assert msgspec.to_builtins(event) == {
        "metadata": {"name": "e"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p"},
        "count": 2,
    }
