"""How far a RoleBasedGroup is. The exit codes of `intact rbg status` are the values."""

from collections.abc import Iterable
from enum import IntEnum

from intact.model.rbg import RoleBasedGroup
from intact.rollout.plan import State


class Standing(IntEnum):
    """1 and 2 are errors of the command itself."""

    DONE = 0
    IN_PROGRESS = 3
    STALLED = 4
    PAUSED = 5

    @property
    def title(self) -> str:
        """In one word, for tables and programs."""
        return _TITLES[self]

    @property
    def words(self) -> str:
        """In a sentence."""
        return _WORDS[self]


_TITLES = {
    Standing.DONE: "Done",
    Standing.IN_PROGRESS: "InProgress",
    Standing.STALLED: "Stalled",
    Standing.PAUSED: "Paused",
}
_WORDS = {
    Standing.DONE: "done",
    Standing.IN_PROGRESS: "in progress",
    Standing.STALLED: "stalled",
    Standing.PAUSED: "paused",
}
_ORDER = (Standing.STALLED, Standing.IN_PROGRESS, Standing.PAUSED, Standing.DONE)
"""Most urgent first."""


def standing(group: RoleBasedGroup) -> Standing:
    status = group.status
    conditions = {one.type: one.status for one in status.conditions}
    states = {one.state for each in status.coordination_state for one in each.progress.values()}
    if not is_seen(group):
        return Standing.IN_PROGRESS  # the conditions speak of what was wanted before
    if conditions.get("Stalled") == "True":
        return Standing.STALLED
    if conditions.get("Ready") != "True":
        return Standing.IN_PROGRESS
    if states & {State.UPDATING, State.WAITING, State.ROLLING_BACK}:
        return Standing.IN_PROGRESS
    if State.PAUSED in states:
        return Standing.PAUSED
    updated = all(one.updated_ready_replicas >= one.desired for one in status.role_statuses)
    return Standing.DONE if updated else Standing.IN_PROGRESS


def is_seen(group: RoleBasedGroup) -> bool:
    """Whether the status is of the present spec."""
    return group.status.observed_generation == group.metadata.generation


def of_all(groups: Iterable[RoleBasedGroup]) -> Standing:
    """Of several RoleBasedGroups, how far the most urgent one is; of none, done."""
    found = {standing(group) for group in groups}
    return next((each for each in _ORDER if each in found), Standing.DONE)
