"""The steps of a rolling update, as a table of what the StatefulSet of leaders says next."""

import pytest

from intact.sandbox.controllers.leader_worker_set.kind import Wanted
from intact.sandbox.controllers.leader_worker_set.rolling import Group, Leaders, begin, go_on

OLD, NEW = Group(ready=True), Group(ready=True, updated=True)
DOWN, COMING = Group(), Group(updated=True)


def wanted(
    replicas: int = 4, *, unavailable: int = 1, surge: int = 0, partition: int = 0
) -> Wanted:
    return Wanted(
        replicas=replicas,
        size=2,
        recreates=True,
        leader_first=False,
        unavailable=unavailable,
        surge=surge,
        partition=partition,
    )


def test_a_new_template_updates_nothing_yet() -> None:
    assert begin(wanted(), Leaders(0, 4)) == Leaders(4, 4)
    assert begin(wanted(surge=2), Leaders(0, 4)) == Leaders(4, 6)
    assert begin(wanted(6), Leaders(0, 4)) == Leaders(4, 6)
    assert begin(wanted(2), Leaders(0, 4)) == Leaders(2, 2)


@pytest.mark.parametrize(
    ("asked", "now", "groups", "then"),
    [
        (wanted(), Leaders(0, 4), [NEW] * 4, Leaders(0, 4)),
        (wanted(), Leaders(4, 4), [OLD] * 4, Leaders(3, 4)),
        (wanted(), Leaders(3, 4), [OLD, OLD, OLD, COMING], Leaders(3, 4)),
        (wanted(), Leaders(3, 4), [OLD, OLD, OLD, NEW], Leaders(2, 4)),
        (wanted(unavailable=2), Leaders(4, 4), [OLD] * 4, Leaders(2, 4)),
        # A group that is down anyway is waited for, and may itself be updated.
        (wanted(), Leaders(4, 4), [DOWN, OLD, OLD, OLD], Leaders(4, 4)),
        (wanted(), Leaders(4, 4), [OLD, OLD, OLD, DOWN], Leaders(3, 4)),
        (wanted(), Leaders(4, 4), [DOWN] * 4, Leaders(3, 4)),
        # The partition of the set holds what is below it.
        (wanted(partition=3), Leaders(3, 4), [OLD, OLD, OLD, NEW], Leaders(3, 4)),
        # With a surge, as many more may be down.
        (wanted(surge=1), Leaders(4, 5), [OLD, OLD, OLD, OLD, DOWN], Leaders(3, 5)),
        (wanted(surge=1), Leaders(4, 5), [OLD, OLD, OLD, OLD, NEW], Leaders(2, 5)),
        (wanted(surge=1), Leaders(0, 5), [DOWN, NEW, NEW, NEW, NEW], Leaders(0, 4)),
    ],
)
def test_a_step(asked: Wanted, now: Leaders, groups: list[Group], then: Leaders) -> None:
    assert go_on(asked, now, groups, rescaled=False) == then


def test_a_scaled_set_keeps_its_partition() -> None:
    assert go_on(wanted(6), Leaders(2, 4), [OLD] * 4, rescaled=True) == Leaders(2, 6)
    assert go_on(wanted(2), Leaders(3, 4), [OLD] * 4, rescaled=True) == Leaders(2, 2)
