"""What is shown at one moment."""

from tests.unit.cli.dashboard.shards import moment


def test_it_is_drawn_and_judged_once() -> None:
    at = moment()
    assert at.picture is at.picture
    assert at.judge is at.judge
    assert [unit.name for unit, _budgets in at.picture.groups] == ["s0", "s1", "s2"]
