"""Events on RoleBasedGroups.

| events | how they are written |
|---|---|
| transitions of a rollout | every one, also if the first write fails |
| readiness | one event a reason, with the last message and a count: it may change with every pod |
| problems | one event a problem, when it begins or differs |
| all others | as the recorder writes them |
"""

from intact.kube.events import EventRecorder, EventType, reference_to
from intact.kube.resources import RBGS
from intact.model.rbg import RoleBasedGroup

TRANSITIONS = frozenset(
    {"RolloutStarted", "RolloutPaused", "RolloutStalled", "RolloutCompleted", "RollbackStarted"}
)
READINESS = frozenset({"AllRolesReady", "RoleNotReady"})


class RbgEvents:
    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def say(
        self,
        group: RoleBasedGroup,
        type_: EventType,
        reason: str,
        message: str,
        *,
        series: str | None = None,
    ) -> None:
        """Events of one `series` of a reason become one."""
        self._events.record(
            reference_to(RBGS, group.metadata),
            type_,
            reason,
            message,
            series="" if reason in READINESS else series,
            transition=reason in TRANSITIONS,
        )
