"""A RoleBasedGroup as a tree."""

import msgspec

from intact.cli.rbg.tree import bar, lines
from tests.unit.cli.rbg.seen import seen

NUMBERS = {"llm-a": 1, "llm-b": 2}


def test_the_tree_shows_roles_with_what_they_wait_for() -> None:
    assert lines(seen(updated=1, state="Waiting", waiting="decode: 1 of 2"), NUMBERS) == [
        "ns/llm: in progress, ready 4/4, updated 1/4",
        "revision 2 (llm-b), from 1 (llm-a)",
        "└─ prefill  █████░░░░░░░░░░░░░░░  1/4 updated, 4 ready  Waiting  (StatefulSet, abc)",
        "     waits for: decode: 1 of 2 (since 2026-01-01T00:00:00Z)",
    ]


def test_revisions_without_a_known_number_are_shown_by_name() -> None:
    assert lines(seen(), {})[1] == "revision llm-b, from llm-a"


def test_a_change_that_intact_has_not_seen_is_said() -> None:
    said = "the status is of generation 0, the spec of 1: Intact has not seen the change yet"
    assert said in lines(seen(observed=0), {})
    assert said not in lines(seen(), {})


def test_one_replica_stays_and_several_stay() -> None:
    one, four = (
        lines(seen(updated=2, state="Paused", partition=number), {})[3] for number in (1, 4)
    )
    assert (one.strip(), four.strip()) == ("1 stays as it is", "4 stay as they are")


def test_the_bar_of_a_role() -> None:
    assert bar(0, 0, 4) == "░" * 20
    assert bar(1, 3, 4) == "█" * 5 + "▒" * 10 + "░" * 5
    assert bar(4, 4, 4) == "█" * 20
    assert bar(0, 0, 0) == "█" * 20


def test_of_two_coordinations_the_one_that_has_not_ended_is_shown() -> None:
    found = seen(state="Completed", updated=2)
    [placed] = found.status.coordination_state
    [one] = placed.progress.values()
    rolled = {"prefill": msgspec.structs.replace(one, state="Updating")}
    moving = msgspec.structs.replace(placed, name="rolled", progress=rolled)
    for states in ([placed, moving], [moving, placed]):
        status = msgspec.structs.replace(found.status, coordination_state=states)
        text = "\n".join(lines(msgspec.structs.replace(found, status=status), {}))
        assert "Updating" in text
        assert "Completed" not in text
