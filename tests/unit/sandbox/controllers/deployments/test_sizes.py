"""How large the ReplicaSets of a Deployment may be."""

from typing import Any

import pytest

from intact.sandbox.controllers.deployments.sizes import (
    DESIRED,
    HASH_LABEL,
    MOST,
    fence,
    find_new,
    first_size,
    is_scaled,
    rolled,
    scaled,
)
from tests.support.objects import Json


def deployment(replicas: int, surge: int | str = 1, unavailable: int | str = 0) -> Json:
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": limits},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 2}},
        },
    }


def one(
    name: str, size: int, available: int | None = None, annotations: Json | None = None
) -> Json:
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"replicas": size},
        "status": {"availableReplicas": size if available is None else available},
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "wanted"),
    [
        (10, "25%", "25%", (3, 2)),
        (2, "0%", "1%", (0, 1)),
        (1, 0, "25%", (0, 1)),
        (2, "1%", "25%", (1, 0)),
        (3, 2, 5, (2, 3)),
        (0, "25%", "25%", (0, 0)),
    ],
)
def test_amounts_are_rounded_and_never_both_zero(
    replicas: int, surge: int | str, unavailable: int | str, wanted: tuple[int, int]
) -> None:
    assert fence(deployment(replicas, surge, unavailable)) == wanted


def test_a_recreation_has_no_fence() -> None:
    body = deployment(4)
    body["spec"]["strategy"] = {"type": "Recreate"}
    assert fence(body) == (0, 0)
    assert first_size(body, []) == 4


def test_the_new_replica_set_has_the_template_but_for_its_hash() -> None:
    sets = [one("old", 1), one("new", 1), one("newer", 1)]
    labels = {"a": "b", HASH_LABEL: "abc"}
    for each, value in zip(sets, (1, 2, 2), strict=True):
        each["spec"]["template"] = {"metadata": {"labels": labels}, "spec": {"x": value}}
    assert find_new(deployment(1), sets) is sets[1]
    assert find_new(deployment(1), sets[:1]) is None


@pytest.mark.parametrize(
    ("body", "new", "old", "wanted"),
    [
        # Up as far as the surge, then down as far as the new ones are available.
        (deployment(4, 1, 0), one("n", 1, 0), [one("o", 4)], {"o": 4}),
        (deployment(4, 1, 0), one("n", 1, 1), [one("o", 4)], {"o": 3}),
        (deployment(4, 1, 0), one("n", 1, 1), [one("o", 3)], {"n": 2}),
        (deployment(10, 3, 2), one("n", 3, 0), [one("o", 10)], {"o": 8}),
        (deployment(10, 3, 2), one("n", 3, 0), [one("o", 8)], {"n": 5}),
        (deployment(10, 3, 2), one("n", 5, 0), [one("o", 8)], {"o": 8}),
        # Unavailable pods of old sets go first, of the oldest first.
        (deployment(10, 3, 2), one("n", 5, 0), [one("o", 3, 0), one("p", 5)], {"o": 3, "p": 5}),
        (deployment(10, 3, 2), one("n", 4, 2), [one("o", 4, 1), one("p", 5)], {"o": 1, "p": 5}),
        (deployment(4, 0, 1), one("n", 0, 0), [one("o", 4)], {"o": 3}),
        # A status that is behind its size is not trusted.
        (deployment(6, 3, 2), one("n", 4, 0), [one("o", 5, 11)], {"o": 5}),
        # More than wanted, as after a smaller scale.
        (deployment(2), one("n", 5), [], {"n": 2}),
    ],
)
def test_a_rollout_goes_step_by_step(
    body: Json, new: Json, old: list[Json], wanted: dict[str, int]
) -> None:
    assert rolled(body, new, old) == wanted


@pytest.mark.parametrize(
    ("replicas", "new", "old", "wanted"),
    [
        (5, one("n", 3), [one("o", 0)], {"n": 5}),
        (5, None, [one("o", 0), one("p", 2)], {"p": 5}),
        (5, one("n", 0), [one("o", 0)], {"n": 5}),
        (5, None, [], {}),
        # The new set has all that is wanted: the others are emptied.
        (5, one("n", 5, 5, {DESIRED: "5"}), [one("o", 2)], {"o": 0}),
        # Each gets its share; the largest what is left over.
        (
            15,
            one("n", 5, 0, {MOST: "13"}),
            [one("o", 8, 8, {MOST: "13"})],
            {"o": 11, "n": 7},
        ),
        (
            6,
            one("n", 7, 0, {MOST: "18"}),
            [one("o", 11, 11, {MOST: "18"})],
            {"o": 5, "n": 4},
        ),
        (
            0,
            one("n", 5, 0, {MOST: "13"}),
            [one("o", 8, 8, {MOST: "13"})],
            {"o": 0, "n": 0},
        ),
    ],
)
def test_a_scale_is_shared(
    replicas: int, new: Json | None, old: list[Json], wanted: dict[str, int]
) -> None:
    assert scaled(deployment(replicas, 3, 2), new, old) == wanted


@pytest.mark.parametrize(
    ("sets", "wanted"),
    [
        ([one("n", 3, 3, {DESIRED: "3"})], False),
        ([one("n", 3, 3, {DESIRED: "5"})], True),
        ([one("n", 3), one("o", 0, 0, {DESIRED: "5"})], False),
        ([one("n", 3, 3, {DESIRED: "many"})], False),
    ],
)
def test_a_scale_is_seen_by_what_the_sets_were_told(sets: list[Any], wanted: bool) -> None:
    assert is_scaled(deployment(3), sets) is wanted
