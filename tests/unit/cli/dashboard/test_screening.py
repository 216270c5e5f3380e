"""A film on the page."""

from intact.cli.dashboard.history import History
from intact.cli.dashboard.screening import Screening
from tests.unit.sandbox.rehearsal.filmed import filmed, groups

FILM = filmed(groups(), "node-0", "node-1")
LAST = FILM.length - 1


def test_frames_are_moments_and_the_nearest_is_shown() -> None:
    screening = Screening(FILM)
    assert screening.at(0).now == FILM.began
    assert screening.at(LAST + 10) is screening.at(LAST)
    assert screening.at(LAST).now == screening.end
    assert screening.frame(LAST + 10) == {
        "number": LAST,
        "frames": FILM.length,
        "seconds": FILM.seconds[-1],
        "lasts": FILM.seconds[-1],
    }


def test_few_moments_are_kept() -> None:
    screening = Screening(FILM, kept=2)
    first, second = screening.at(0), screening.at(1)
    assert screening.at(0) is first
    screening.at(2)
    assert screening.at(0) is first
    assert screening.at(1) is not second


async def test_drains_and_refusals_are_those_up_to_the_frame() -> None:
    screening = Screening(FILM)
    assert screening.drains(LAST) == {}
    history = History(most=None)
    await screening.record(history)
    assert screening.drains(0) == {}
    drained = screening.drains(LAST)
    assert {name: len(one.pods) for name, one in drained.items()} == {"node-0": 2, "node-1": 2}
    assert screening.refusals(0) == []
    assert list(screening.refusals(LAST)) == list(FILM.refusals)
    assert FILM.refusals != []
    budget = screening.at(LAST).picture.budgets[0]
    available = [one.numbers[0] for one in history.of_budget(budget)]
    assert (available[0], min(available), available[-1]) == (3, 2, 3)
