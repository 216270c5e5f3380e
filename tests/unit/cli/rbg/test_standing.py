"""How far a RoleBasedGroup is, and the exit code that says so."""

import pytest

from intact.cli.rbg.standing import Standing, of_all, standing
from intact.model.rbg import RoleBasedGroup
from tests.unit.cli.rbg.seen import seen


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (seen(), Standing.DONE),
        (seen(state="Completed"), Standing.DONE),
        (seen(updated=2), Standing.IN_PROGRESS),
        (seen(observed=0), Standing.IN_PROGRESS),
        (seen(ready="False"), Standing.IN_PROGRESS),
        (seen(state="Updating"), Standing.IN_PROGRESS),
        (seen(state="Paused", updated=2), Standing.PAUSED),
        (seen(ready="False", stalled="True"), Standing.STALLED),
        (seen(ready="False", stalled="True", observed=0), Standing.IN_PROGRESS),
    ],
)
def test_the_standing_of_a_role_based_group(found: RoleBasedGroup, expected: Standing) -> None:
    assert standing(found) is expected


def test_exit_codes_are_those_of_the_documentation() -> None:
    assert [one.value for one in Standing] == [0, 3, 4, 5]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], Standing.DONE),
        ([seen(), seen()], Standing.DONE),
        ([seen(), seen(state="Paused", updated=2)], Standing.PAUSED),
        ([seen(state="Paused", updated=2), seen(updated=2)], Standing.IN_PROGRESS),
        ([seen(updated=2), seen(stalled="True"), seen()], Standing.STALLED),
    ],
)
def test_of_several_the_most_urgent_one_counts(
    groups: list[RoleBasedGroup], expected: Standing
) -> None:
    assert of_all(groups) is expected


def test_every_standing_has_its_words() -> None:
    assert [one.title for one in Standing] == ["Done", "InProgress", "Stalled", "Paused"]
    assert [one.words for one in Standing] == ["done", "in progress", "stalled", "paused"]
