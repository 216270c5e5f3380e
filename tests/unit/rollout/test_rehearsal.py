import pytest

from intact.rollout.batches import Batched
from intact.rollout.plan import Rules
from intact.rollout.rehearsal import all_old, rehearse
from tests.unit.rollout.cases import percent


@pytest.mark.parametrize(
    ("prefill", "decode", "ratio", "most"), [(40, 20, 10, 10), (200, 100, 5, 20), (10, 5, 20, 5)]
)
def test_all_roles_move_in_every_round(prefill: int, decode: int, ratio: int, most: int) -> None:
    rules = Rules(percent(ratio), percent(ratio))
    rehearsal = rehearse([all_old("prefill", prefill), all_old("decode", decode)], rules)
    assert rehearsal.end.completed
    assert len(rehearsal.rounds) <= most
    assert all(all(one.started.values()) for one in rehearsal.rounds)
    assert max(one.skew for one in rehearsal.rounds) <= percent(ratio)


def test_a_rehearsal_ends_at_the_partition() -> None:
    rules = Rules(percent(5), percent(5), percent(80))
    rehearsal = rehearse([all_old("prefill", 200), all_old("decode", 100)], rules)
    assert rehearsal.rounds[-1].updated == {"decode": 20, "prefill": 40}
    assert not rehearsal.end.completed


def test_a_rollout_that_cannot_begin_has_no_rounds_and_says_why() -> None:
    rehearsal = rehearse([all_old("a", 3)], Rules(max_unavailable=percent(0)))
    assert rehearsal.rounds == []
    assert "none of 3" in rehearsal.end.roles["a"].waits_for


def test_batches_move_whole() -> None:
    batched = Batched("together", {"prefill": 2, "decode": 1})
    rehearsal = rehearse(
        [all_old("prefill", 6), all_old("decode", 3)], Rules(percent(1), percent(34)), [batched]
    )
    assert [one.started for one in rehearsal.rounds] == [{"decode": 1, "prefill": 2}] * 3
