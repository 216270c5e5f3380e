"""What is recorded: the kinds of a picture, each change once, and refusals."""

import json

from intact.sandbox.rehearsal.film import encode
from intact.sandbox.snapshot.as_objects import NEVER_SHOWN
from tests.support.small_clusters import SmallCluster
from tests.unit.sandbox.rehearsal.filmed import filmed, groups, pods_on, recorded


def blocked() -> SmallCluster:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    made.pdb("web", {"app": "web"}, minAvailable=2)
    return made


def test_only_kinds_of_a_picture_and_nothing_secret() -> None:
    film = recorded(groups(), "node-0").film
    kinds = film.objects.keys() | {kind for each in film.changes for kind in each.objects}
    assert {"pods", "nodes", "poddisruptionbudgets.policy", "statefulsets.apps"} <= kinds
    assert not kinds & (NEVER_SHOWN | {"secrets", "events", "leases.coordination.k8s.io"})
    assert b"managedFields" not in encode(film)


def test_each_moment_has_only_what_changed() -> None:
    film = recorded(groups(), "node-0").film
    pods = {name for each in film.changes for name in map(_name, each.objects.get("pods", ()))}
    assert pods == {"g0-0", "g0-1"}


def _name(raw: bytes) -> str:
    name: str = json.loads(bytes(raw))["metadata"]["name"]
    return name


def test_pods_that_go_and_pods_that_come() -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-1"])
    film = recorded(made, "node-0").film
    gone = [key for each in film.changes for key in each.gone]
    assert gone == [("pods", "default", "web-5d4f8c7d9-pod0")]


def test_a_pod_that_comes_back_under_its_name_is_not_gone_for_good() -> None:
    film = filmed(groups(), "node-0")
    last = film.at(film.length - 1)
    assert {"g0-0", "g0-1"} <= {each.metadata.name for each in last.objects.pods}
    assert pods_on(last, "node-0") == []


def test_refusals_with_the_same_words_are_one() -> None:
    film = recorded(blocked(), "node-0").film
    [refusal] = film.refusals
    assert refusal.pod == "web-5d4f8c7d9-pod0"
    assert "disruption budget" in refusal.why
    assert refusal.times > 2
    assert refusal.until > refusal.at + 60


def test_the_same_rehearsal_gives_the_same_film() -> None:
    first, second = (encode(recorded(groups(), "node-0").film) for _ in range(2))
    assert first == second
