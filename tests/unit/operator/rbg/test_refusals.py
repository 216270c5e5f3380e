"""Writes that do not hold up each other."""

import pytest

from intact.kube.errors import Forbidden, NotFound, Unreachable
from intact.model.status import Status
from intact.operator.rbg.refusals import gather_refusals
from tests.unit.kube.simulated import simulated


@simulated
async def test_every_write_is_made_and_refusals_are_returned() -> None:
    made: list[str] = []

    async def write(name: str, error: Exception | None = None) -> None:
        if error is not None:
            raise error
        made.append(name)

    forbidden = Forbidden(Status(status="Failure", code=403))
    gone = NotFound(Status(status="Failure", code=404))
    found = await gather_refusals([write("a"), write("b", forbidden), write("c", gone), write("d")])
    assert found == [forbidden]
    assert made == ["a", "d"]


@simulated
async def test_a_server_that_cannot_be_reached_ends_it() -> None:
    async def write() -> None:
        raise Unreachable("no answer")

    with pytest.raises(Unreachable):
        await gather_refusals(iter([write()]))
