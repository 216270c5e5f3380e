"""RoleBasedGroups."""

from datetime import timedelta
from typing import Any

import pytest

from intact.cli.dashboard.history import History
from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import Unknown
from intact.cli.dashboard.views.rollout import group_named, rollout, rollouts
from intact.picture.objects import Objects
from tests.support.pictures import NOW, ago
from tests.unit.cli.dashboard.shards import rbg

Json = dict[str, Any]


def revision(number: int, name: str, **state: bool) -> Json:
    return {
        "revision": number,
        "name": name,
        "created": ago(minutes=5),
        "current": False,
        "update": False,
        "changed": {"decode": "image"},
        "images": {"decode": [f"engine:{number}"]},
        **state,
    }


REVISIONS = [revision(1, "llm-one", current=True), revision(2, "llm-two", update=True)]


def shown(ready: tuple[int, int] = (4, 1), skew: str | None = "50%") -> Json:
    history = History()
    for second, done in enumerate([(0, 0), ready]):
        at = NOW + timedelta(seconds=second)
        history.add(Moment(Objects(rbgs=[rbg(done, skew=skew)]), at))
    moment = Moment(Objects(rbgs=[rbg(ready, skew=skew)], intact=True), NOW)
    return rollout(moment, rbg(ready, skew=skew), history, REVISIONS, end=NOW)


def test_roles_with_what_they_may_and_wait_for() -> None:
    prefill, decode = shown()["roles"]
    assert (prefill["updated"], prefill["ready"], prefill["desired"]) == (5, 7, 8)
    assert (prefill["allowed"], prefill["part"], prefill["begun"]) == (5, 50, 62)
    assert decode["waitingFor"] == "decode-1 to be ready"


def test_the_skew_over_time_against_its_bound() -> None:
    [skew] = shown()["skews"]
    assert (skew["name"], skew["now"], skew["bound"]) == ("together", "25 %", "50 %")
    assert len(skew["chart"].lines) == 2
    assert skew["chart"].most == 100
    [unbound] = shown(skew=None)["skews"]
    assert unbound["bound"] is None
    assert len(unbound["chart"].lines) == 1


def test_revisions_by_number_the_newest_first() -> None:
    found = shown()
    assert [(one["number"], one["state"]) for one in found["revisions"]] == [
        (2, "update"),
        (1, "current"),
    ]
    assert found["revisions"][0]["images"] == "decode: engine:2"
    assert found["revisions"][0]["changed"] == "decode: image"
    assert found["rollout"]["updateRevision"] == {"name": "llm-two", "number": 2}


def test_all_of_them_and_one_by_its_name() -> None:
    moment = Moment(Objects(rbgs=[rbg()]), NOW)
    [one] = rollouts(moment)["rollouts"]
    assert (one["namespace"], one["name"], one["standing"]) == ("llm", "llm", "InProgress")
    assert group_named(moment, "llm", "llm").metadata.name == "llm"
    with pytest.raises(Unknown, match="there is no RoleBasedGroup x in namespace llm"):
        group_named(moment, "llm", "x")
