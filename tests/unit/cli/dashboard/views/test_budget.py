"""One budget."""

from datetime import timedelta

from intact.cli.dashboard.history import History
from intact.cli.dashboard.views.budget import MOST_REFUSALS, MOST_ROWS, budget
from intact.cli.why.events import Refused
from tests.support.pictures import NOW, ago
from tests.unit.cli.dashboard.shards import moment, shards

DENIED = Refused("DELETE, requested by alice: 2 of 3 groups are available", 4, ago(seconds=5))


def test_its_units_what_it_waits_for_and_how_it_went() -> None:
    at = moment()
    history = History()
    history.add(at)
    [found] = at.picture.budgets
    end = NOW + timedelta(seconds=10)
    shown = budget(at, found, history.of_budget(found), [DENIED], end=end)
    assert [one["name"] for one in shown["rows"]] == ["s2", "s0", "s1"]
    assert "s2-1" in shown["rows"][0]["why"]
    assert shown["word"] == "waits"
    assert "It lets a group go when" in shown["lines"][-1]
    assert shown["timeline"].lasted == "10s"
    assert shown["budget"]["reference"] == "pub/llm"


def test_refusals_say_who_asked() -> None:
    at = moment()
    [found] = at.picture.budgets
    shown = budget(at, found, [], [DENIED] * (MOST_REFUSALS + 2), end=NOW)
    assert shown["refused"][0] == {
        "ago": "5s",
        "times": 4,
        "operation": "DELETE",
        "users": "alice",
        "text": "2 of 3 groups are available",
    }
    assert (len(shown["refused"]), shown["more_refused"]) == (MOST_REFUSALS, 2)


def test_many_units_have_pages() -> None:
    at = moment(shards(MOST_ROWS + 1))
    [found] = at.picture.budgets
    shown = budget(at, found, [], [], end=NOW, page=2)
    assert (len(shown["rows"]), shown["page"], shown["pages"]) == (1, 2, 2)
