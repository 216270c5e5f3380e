"""Denials, told in the log and in events: the first at once, repeats once a minute with a count.

A client that is denied asks again: the scheduler 120 times a second, an autoscaler every 0.1 to
10 s. For each budget, pod and reason there is one line and one event a minute. Repeats are counted,
and told when their minute is over. Events carry the count in `count`, where `kubectl describe`
looks for it.

A drain's user looks at the node: what holds it there is an event of the node as well, one for each
budget.

Both name who asked: a line those of its minute, an event all since the denial was first told. Who
asks makes no other event.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from intact.kube.events import EventRecorder, node_reference
from intact.kube.store import Store
from intact.model.event import ObjectReference
from intact.model.listing import listed
from intact.model.pod import Pod
from intact.model.pod_state import is_terminating
from intact.operator.webhook.standing_refusals import StandingRefusals

log = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two lines about the same denial."""
MOST = 4096
"""Denials that are remembered. What was told longest ago is forgotten first."""
_USERS = 10
"""Users whose names are kept for the next line, and for the event."""
_LONGEST_USER = 128
"""Characters of a user's name in a sentence, so that the reason has room behind it."""
_LONGEST_KEPT = 10_000
"""Characters of a user's name or a message: more than any log line or event shows."""

ENFORCE = "Enforce"

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Denial:
    budget: ObjectReference
    pod: ObjectReference
    reason: str
    """Why, in one word: denials of one reason differ in their figures only."""
    message: str
    operation: str
    user: str
    group: str = ""
    """The pod's group; empty if the budget counts pods, or the pod has none."""
    node: str = ""
    """The node that is being emptied of the pod; empty if the pod goes for another reason."""
    mode: str = ENFORCE
    """`Enforce`, or the mode in which the budget lets the pod go all the same."""
    dry_run: bool = False
    """Told in the log only."""

    @property
    def key(self) -> _Key:
        budget, pod = self.budget, self.pod
        return (
            *(budget.kind, budget.namespace, budget.name, budget.uid),
            *(pod.namespace, pod.name, pod.uid),
            *(self.reason, self.mode, str(self.dry_run)),
        )


@dataclass(slots=True)
class _Told:
    at: float
    repeats: int = 0
    last: Denial | None = None
    users: set[str] = field(default_factory=set)
    """Of the repeats."""
    everyone: set[str] = field(default_factory=set)
    """Since it was first told."""

    def add(self, user: str) -> None:
        for users in (self.users, self.everyone):
            if len(users) < _USERS:
                users.add(user)


class Denials:
    def __init__(self, events: EventRecorder) -> None:
        self._events = events
        self._told: OrderedDict[_Key, _Told] = OrderedDict()
        """In the order in which they were told."""
        self._some = asyncio.Event()
        self._standing = StandingRefusals()

    def tell(self, denial: Denial) -> None:
        """Say why, at once or when the minute since the last line is over."""
        denial = _bounded(denial)
        now = _now()
        if denial.mode == ENFORCE and not denial.dry_run:
            self._standing.note(denial.budget, denial.pod, now)
        known = self._told.get(denial.key)
        if known is None:
            self._told[denial.key] = _Told(now, everyone={denial.user})
            self._some.set()
            self._say(denial, {denial.user}, {denial.user}, 1, "")
            if len(self._told) > MOST:
                self._finish(self._told.popitem(last=False)[1])
            return
        known.repeats += 1
        known.last = denial
        known.add(denial.user)
        if now >= known.at + EVERY:
            self._next_minute(denial.key, now)

    def oldest_standing(self, pods: Store[Pod]) -> dict[str, float]:
        """How many seconds the oldest refusal that still stands is old, by the budget's UID."""

        def is_there(named: ObjectReference) -> bool:
            pod = pods.get(named.namespace, named.name)
            return pod is not None and pod.metadata.uid == named.uid and not is_terminating(pod)

        return self._standing.oldest(_now(), is_there)

    async def run(self) -> None:
        """Tells the repeats of each minute when it is over, until cancelled."""
        try:
            while True:
                if not self._told:
                    self._some.clear()
                    await self._some.wait()
                oldest = next(iter(self._told.values()))
                await asyncio.sleep(oldest.at + EVERY - _now())
                self._tell_due()
        finally:
            for known in self._told.values():
                self._finish(known)
            self._told.clear()

    def _tell_due(self) -> None:
        now = _now()
        for key in [key for key, known in self._told.items() if now >= known.at + EVERY]:
            self._next_minute(key, now)

    def _next_minute(self, key: _Key, now: float) -> None:
        """Tell the repeats; what was not repeated is forgotten."""
        known = self._told.pop(key)
        if known.repeats:
            self._finish(known)
            self._told[key] = _Told(now, everyone=known.everyone)

    def _finish(self, known: _Told) -> None:
        if known.last is not None:
            again = f" (and {known.repeats} more times in the last minute)"
            self._say(known.last, known.users, known.everyone, known.repeats, again)

    def _say(
        self, denial: Denial, users: set[str], everyone: set[str], times: int, again: str
    ) -> None:
        enforced = denial.mode == ENFORCE
        log.info(
            "budget %s/%s %s %s of pod %s, requested by %s%s: %s%s",
            denial.budget.namespace,
            denial.budget.name,
            "denied" if enforced else f"would deny ({denial.mode})",
            denial.operation,
            denial.pod.name,
            _named(users),
            " (dry run)" if denial.dry_run else "",
            denial.message,
            again,
            extra={"fields": fields_of(denial, users, times)},
        )
        if denial.dry_run:
            return
        reason = "DisruptionDenied" if enforced else "DisruptionWouldBeDenied"
        text = f"{denial.operation}, requested by {_named(everyone)}: {denial.message}"
        same = f"{denial.operation}: {denial.message}"
        for reference in (denial.pod, denial.budget):
            self._events.record(reference, "Warning", reason, text, times=times, counts_as=same)
        if denial.node:
            of_pod = f"{denial.operation} of pod {denial.pod.namespace}/{denial.pod.name}"
            text = f"{of_pod}, requested by {_named(everyone)}: {denial.message}"
            series = f"{denial.budget.kind}/{denial.budget.namespace}/{denial.budget.name}"
            node = node_reference(denial.node)
            self._events.record(node, "Warning", reason, text, times=times, series=series)


def _bounded(denial: Denial) -> Denial:
    """What is remembered of it: reviews that are forged have names of any length."""
    user, message = denial.user[:_LONGEST_KEPT], denial.message[:_LONGEST_KEPT]
    return replace(denial, user=user, message=message)


def _named(users: set[str]) -> str:
    return listed(
        user if len(user) <= _LONGEST_USER else f"{user[:_LONGEST_USER]}..."
        for user in sorted(users)
    )


def fields_of(denial: Denial, users: set[str], times: int) -> dict[str, object]:
    """Of the log line. docs/reference/refusals.md lists them all; a test compares."""
    return {
        "namespace": denial.budget.namespace,
        "budget": denial.budget.name,
        "kind": denial.budget.kind,
        "pod": denial.pod.name,
        "group": denial.group,
        "users": sorted(users),
        "operation": denial.operation,
        "reason": denial.reason,
        "mode": denial.mode,
        "dry_run": denial.dry_run,
        "times": times,
    }


def _now() -> float:
    return asyncio.get_running_loop().time()
