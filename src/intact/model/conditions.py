"""Conditions of an object: the next ones, from those that are stored and those that hold now."""

from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec

from intact.model.meta import Condition
from intact.model.times import timestamp

_LONGEST = 8000
"""Characters of a message. The API takes 32768 bytes, and refuses the whole status for one more."""


def cut(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 3]}..."


def merge(
    old: list[Condition],
    wanted: Iterable[Condition],
    generation: int,
    now: datetime,
    ours: Collection[str] = (),
) -> list[Condition]:
    """The next conditions: each in the place of the one of its type, or at the end.

    A transition time moves only with the status. Of the types that are `ours`, those that are no
    longer wanted go; conditions of other writers stay. Messages that the API would refuse are cut.
    """
    new = {condition.type: condition for condition in wanted}
    merged = []
    for known in old:
        condition = new.pop(known.type, None)
        if condition is not None:
            same = known.status == condition.status
            since = known.last_transition_time if same else ""
            merged.append(_dated(condition, generation, since or timestamp(now)))
        elif known.type not in ours:
            merged.append(known)
    merged += [_dated(condition, generation, timestamp(now)) for condition in new.values()]
    return merged


def _dated(condition: Condition, generation: int, since: str) -> Condition:
    return msgspec.structs.replace(
        condition,
        message=cut(condition.message),
        last_transition_time=since,
        observed_generation=generation,
    )
