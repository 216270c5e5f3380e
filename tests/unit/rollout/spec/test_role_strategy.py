"""A role's own update strategy, under either of its names."""

import msgspec
import pytest

from intact.model.rbg import Role
from intact.rollout.spec.role_strategy import rolling_of, standstill_errors, strategy_errors
from tests.support.rbg_objects import Json, kind, role


def read(workload: str, **strategies: Json) -> Role:
    given = {name: {"rollingUpdate": rolling} for name, rolling in strategies.items()}
    return msgspec.convert(role("a", **kind(workload)) | given, Role)


@pytest.mark.parametrize("name", ["updateStrategy", "rolloutStrategy"])
def test_both_names_mean_the_same(name: str) -> None:
    assert rolling_of(read("Deployment", **{name: {"maxSurge": 2}})).max_surge == 2


@pytest.mark.parametrize(
    ("workload", "rolling", "stands_still"),
    [
        ("Deployment", {"maxUnavailable": 0, "maxSurge": 0}, True),
        ("Deployment", {"maxUnavailable": "0%", "maxSurge": "0%"}, True),
        ("Deployment", {"maxUnavailable": 0}, False),
        ("Deployment", {"maxSurge": 0}, False),
        ("Deployment", {"maxUnavailable": "1%", "maxSurge": 0}, False),
        ("LeaderWorkerSet", {"maxUnavailable": 0}, True),
        ("LeaderWorkerSet", {"maxUnavailable": 0, "maxSurge": 1}, False),
        ("LeaderWorkerSet", {"maxSurge": 0}, False),
        ("StatefulSet", {"maxUnavailable": 0}, True),
        ("StatefulSet", {"maxUnavailable": 1}, False),
        ("StatefulSet", {}, False),
    ],
)
@pytest.mark.parametrize("name", ["updateStrategy", "rolloutStrategy"])
def test_a_strategy_by_which_nothing_could_be_updated(
    name: str, workload: str, rolling: Json, stands_still: bool
) -> None:
    found = list(standstill_errors(read(workload, **{name: rolling}), "spec.roles[0]"))
    assert [each.path for each in found] == (
        [f"spec.roles[0].{name}.rollingUpdate.maxUnavailable"] if stands_still else []
    )


def test_a_surge_of_a_stateful_set_is_refused_under_the_own_name_only() -> None:
    rolling = {"maxSurge": 1}
    assert list(strategy_errors(read("StatefulSet", updateStrategy=rolling), "r"))
    assert not list(strategy_errors(read("StatefulSet", rolloutStrategy=rolling), "r"))


def test_a_partition_of_nothing_is_no_partition_of_a_deployment() -> None:
    assert not list(strategy_errors(read("Deployment", rolloutStrategy={"partition": 0}), "r"))
    assert list(strategy_errors(read("Deployment", rolloutStrategy={"partition": 1}), "r"))
