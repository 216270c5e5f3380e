"""Who was refused lately: the events of a budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from intact.cli.output import counted
from intact.cli.why.units import for_how_long
from intact.kube.client import Client
from intact.kube.resources import EVENTS
from intact.model.event import Event
from intact.picture.budgets import BudgetPicture

Json = dict[str, Any]
REASONS = ("DisruptionDenied", "DisruptionWouldBeDenied")
_MOST = 5
_TOLD = re.compile(r"(.+?), requested by (.+?): (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refused:
    message: str
    """`DELETE, requested by alice: 2 of 3 groups are available; ...`, as denials are told."""
    times: int
    last: str

    @property
    def operation(self) -> str:
        return self._parts[0]

    @property
    def users(self) -> str:
        """Who asked; empty in an event that does not say it."""
        return self._parts[1]

    @property
    def text(self) -> str:
        return self._parts[2]

    @property
    def _parts(self) -> tuple[str, str, str]:
        found = _TOLD.fullmatch(self.message)
        return (found[1], found[2], found[3]) if found is not None else ("", "", self.message)


async def refused_by(client: Client, budget: BudgetPicture) -> list[Refused]:
    """The latest first. Raises `KubeError`."""
    fields = f"involvedObject.kind={budget.kind},involvedObject.name={budget.name}"
    found = (await client.list(EVENTS, budget.namespace, fields=fields)).items
    mine = [
        one
        for one in found
        if one.reason in REASONS and one.involved_object.uid in ("", budget.budget.metadata.uid)
    ]
    said = [Refused(one.message, max(1, one.count), _last(one)) for one in mine]
    return sorted(said, key=lambda one: one.last, reverse=True)


def _last(event: Event) -> str:
    return event.last_timestamp or event.first_timestamp or event.metadata.creation_timestamp


def refused_lines(found: Sequence[Refused], now: datetime) -> list[str]:
    lines = ["refused lately:"] if found else []
    for one in found[:_MOST]:
        since = for_how_long(one.last, now)
        lines.append(f"  {counted(one.times, 'time')}, last {since or '?'} ago: {one.message}")
    if (more := len(found) - _MOST) > 0:
        lines.append(f"  and {more} more")
    return lines


def refused_document(one: Refused) -> Json:
    return {"message": one.message, "count": one.times, "last": one.last or None}
