"""What happens in a drain, as its views are told; as JSON one object a line.

| event | fields | says |
|---|---|---|
| `cordoned` | node, message | the node takes no new pods; the message says if that was so before |
| `warning` | message | pods that stay, or go and do not come back; what cannot be read |
| `begun` | node, pods | it is the node's turn; so many pods are to go |
| `evicting` | node, namespace, pod, uid, group | the server lets the pod go |
| `refused` | node, namespace, pod, uid, group, budget, message | not now |
| `failed` | node, namespace, pod, uid, group, message | the server answers with an error |
| `late` | node, namespace, pod, uid | the pod came after the node was cordoned, and stays |
| `evicted` | node, namespace, pod, uid, group | the pod is gone |
| `waiting` | namespace, budget, message | pods wait for this budget |
| `resumed` | namespace, budget | none does any more |
| `drained` | node | all pods that were to go are gone |
| `pausing` | seconds | the next nodes have to wait |
| `unreachable` | message | the server does not answer; it is asked again |
| `uncordoned` | node | by `--uncordon-on-failure` |
| `left` | node, namespace, pod, uid, group, message | still there at the end, and why |
| `ended` | result, message | `drained`, `timeout`, `interrupted` or `errors` |

`time` and `event` are in each of them; a field that says nothing is left out.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from intact.model.times import micro_timestamp


class What(StrEnum):
    CORDONED = "cordoned"
    WARNING = "warning"
    BEGUN = "begun"
    EVICTING = "evicting"
    REFUSED = "refused"
    FAILED = "failed"
    LATE = "late"
    EVICTED = "evicted"
    WAITING = "waiting"
    RESUMED = "resumed"
    DRAINED = "drained"
    PAUSING = "pausing"
    UNREACHABLE = "unreachable"
    UNCORDONED = "uncordoned"
    LEFT = "left"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Event:
    what: What
    node: str = ""
    namespace: str = ""
    pod: str = ""
    uid: str = ""
    group: str = ""
    budget: str = ""
    """As people name it: `pub/llm`."""
    pods: int | None = None
    seconds: float | None = None
    result: str = ""
    message: str = ""


Tell = Callable[[Event], None]


def as_json(event: Event, now: datetime) -> str:
    fields = asdict(event)
    what = fields.pop("what")
    said = {key: value for key, value in fields.items() if value not in ("", None)}
    return json.dumps({"time": micro_timestamp(now), "event": what, **said}, ensure_ascii=False)
