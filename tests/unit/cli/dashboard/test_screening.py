"""A film on the page."""

from intact.cli.dashboard.history import History
from intact.cli.dashboard.screening import Screening
from tests.support.small_clusters import SmallCluster
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


def web() -> SmallCluster:
    """Three pods of a Deployment, of which one may be away, and one of another budget."""
    made = SmallCluster(nodes=4)
    made.deployment("web", ["node-0", "node-0", "node-1"])
    made.deployment("other", ["node-0"])
    made.pdb("web", {"app": "web"}, maxUnavailable=1)
    made.pdb("other", {"app": "other"}, maxUnavailable=1)
    return made


async def test_evictions_refused_of_a_budget_are_told_when_the_pods_have_gone_too() -> None:
    film = filmed(web(), "node-0")
    screening, last = Screening(film), film.length - 1
    await screening.record(History(most=None))
    budgets = {one.name: one for one in screening.at(last).picture.budgets}
    there = {one.metadata.uid for one in screening.at(last).objects.pods}
    assert {one.uid for one in film.refusals}.isdisjoint(there)
    assert screening.refused(budgets["web"], 0) == []
    found = screening.refused(budgets["web"], last)
    assert len(found) == len(film.refusals) > 0
    assert {one.users for one in found} == {"kubectl drain node-0"}
    assert screening.refused(budgets["other"], last) == []


async def test_evictions_refused_have_who_asked_and_when() -> None:
    screening = Screening(FILM)
    await screening.record(History(most=None))
    [budget] = screening.at(LAST).picture.budgets
    found = screening.refused(budget, LAST)
    assert len(found) == len(FILM.refusals) > 0
    assert {one.users for one in found} <= {"kubectl drain node-0", "kubectl drain node-1"}
    assert all(one.last <= screening.end.strftime("%Y-%m-%dT%H:%M:%SZ") for one in found)
