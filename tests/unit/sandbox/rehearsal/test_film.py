"""A film is read back frame by frame, each of which a picture can be drawn from."""

import json
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from intact.budget.pdb.annotations import ledger_of
from intact.picture.picture import draw
from intact.sandbox.rehearsal.film import Film, FilmError, decode, encode, read_film
from intact.sandbox.snapshot.as_objects import objects_of
from tests.support.small_clusters import NOW
from tests.unit.sandbox.rehearsal.filmed import filmed, groups, pods_on, recorded


@cache
def body() -> bytes:
    return encode(recorded(groups(), "node-0", "node-1").film)


def film() -> Film:
    return decode(body())


def changed(**values: Any) -> bytes:
    return json.dumps(json.loads(body()) | values).encode()


def test_the_first_frame_is_the_start() -> None:
    frame = film().at(0)
    assert (frame.seconds, frame.refusals) == (0, [])
    assert frame.now == film().began > NOW
    start = objects_of(groups().snapshot())
    for place in ("pods", "nodes", "pdbs", "pod_groups", "owners"):
        found = getattr(frame.objects, place)
        assert len(found) == len(getattr(start, place)), place
    assert pods_on(frame, "node-0") == ["g0-0", "g0-1"]
    assert not any(each.spec.unschedulable for each in frame.objects.nodes)
    assert (frame.objects.intact, frame.objects.leading) == (True, True)


def test_the_last_frame_has_the_nodes_drained_and_all_pods_back() -> None:
    found = film()
    frame = found.at(found.length - 1)
    assert pods_on(frame, "node-0") == pods_on(frame, "node-1") == []
    cordoned = {each.metadata.name for each in frame.objects.nodes if each.spec.unschedulable}
    assert cordoned == {"node-0", "node-1"}
    assert len(frame.objects.pods) == 6
    assert frame.now == found.began + timedelta(seconds=frame.seconds)


def test_every_frame_can_be_drawn_and_its_budget_in_groups_has_figures() -> None:
    available = set()
    for frame in film().frames():
        [budget] = draw(frame.objects).budgets
        assert budget.coverage.in_groups
        ledger = ledger_of(frame.objects.pdbs[0])
        assert (ledger.expected, ledger.desired) == (3, 2)
        available.add(sum(unit.is_up for unit in budget.units))
    assert 3 in available
    assert 2 in available


def test_frames_are_in_the_order_of_time_and_far_enough_apart() -> None:
    found = film()
    assert found.seconds == sorted(found.seconds)
    halves = [seconds // 0.5 for seconds in found.seconds[1:]]
    assert len(halves) == len(set(halves)) > 3


def test_refusals_are_in_the_frames_in_which_they_happen() -> None:
    found = film()
    assert found.refusals
    refused = found.refusals[0]
    assert refused.node in {"node-0", "node-1"}
    assert refused.pod[:2] in {"g0", "g1"}
    assert "llm" in refused.why
    assert refused.until >= refused.at
    shown = [one for frame in found.frames() for one in frame.refusals]
    assert set(shown) == set(found.refusals)


def test_frames_may_be_asked_for_in_any_order_and_share_what_did_not_change() -> None:
    found = film()
    last, first = found.at(found.length - 1), found.at(0)
    assert pods_on(first, "node-0") == ["g0-0", "g0-1"]
    assert any(each is other for each in first.objects.pods for other in last.objects.pods)


@pytest.mark.parametrize("index", [-1, 10_000])
def test_a_frame_that_there_is_not(index: int) -> None:
    with pytest.raises(IndexError, match="has no frame"):
        film().at(index)


def test_a_drain_that_changes_nothing_has_still_a_frame() -> None:
    found = filmed(groups(), "node-3")
    assert found.length >= 1
    assert not found.refusals


@pytest.mark.parametrize("name", ["film.json", "film.json.gz"])
def test_a_file(tmp_path: Path, name: str) -> None:
    recorded(groups(), "node-0").write(tmp_path / name)
    found = read_film(tmp_path / name)
    assert (found.action, found.intact) == ("drain", True)
    assert found.length > 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"kind: Pod", "this is no film"),
        (b"{}", "its format is ''"),
        (b'{"format": "intact-snapshot", "version": 1}', "its format is 'intact-snapshot'"),
        (b'{"format": "intact-film", "version": 1}', "does not say when it began"),
        (b"\x1f\x8b123", "the compressed file is damaged"),
    ],
)
def test_what_is_no_film_is_said(tmp_path: Path, given: bytes, why: str) -> None:
    (tmp_path / "film.json").write_bytes(given)
    with pytest.raises(FilmError, match=f"film.json: .*{why}"):
        read_film(tmp_path / "film.json")


WORDS = {"namespace": "llm", "pod": "a", "uid": "u", "node": "n", "why": "no"}
REFUSAL = {"at": 1, "until": 1, **WORDS}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"version": 7}, "version 7"),
        ({"objects": {"pods": [{"kind": "Pod"}]}}, "damaged: pods: .*metadata"),
        ({"objects": {"pods": [1]}}, "damaged: pods"),
        ({"changes": [{"at": 2}, {"at": 1}]}, "not in the order"),
        ({"changes": [{"at": 1e300}]}, "seconds long"),
        ({"refusals": [{**REFUSAL, "at": 1e300}]}, "seconds long"),
        ({"refusals": [{**REFUSAL, "until": -1e300}]}, "seconds long"),
    ],
)
def test_a_film_that_cannot_be_shown_is_said(values: dict[str, Any], why: str) -> None:
    with pytest.raises(FilmError, match=why):
        decode(changed(**values))


def test_a_film_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FilmError, match=r"away.json: No such file"):
        read_film(tmp_path / "away.json")
