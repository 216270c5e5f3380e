"""What all handlers of the server share."""

import asyncio
import random
from datetime import UTC, datetime

from intact.sandbox import DEFAULT_KINDS, Kind
from intact.sandbox.api.kinds import Registry
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Store


def new_state(kinds: tuple[Kind, ...] = DEFAULT_KINDS) -> State:
    return State(
        Registry(kinds),
        Store(),
        lambda: datetime(2026, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC),
        random.Random(3),
        managed_fields=True,
    )


def test_times_are_written_in_whole_seconds() -> None:
    assert new_state().now() == "2026-01-01T00:00:00Z"


def test_uids_come_from_the_seed() -> None:
    first, again = new_state(), new_state()
    assert [first.new_uid(), first.new_uid()] == [again.new_uid(), again.new_uid()]


async def test_a_pause_lets_other_requests_go_ahead() -> None:
    state, steps = new_state(), []

    async def request(name: str) -> None:
        steps.append(f"{name} begins")
        await state.pause()
        steps.append(f"{name} ends")

    await asyncio.gather(request("a"), request("b"))
    assert steps == ["a begins", "b begins", "a ends", "b ends"]
