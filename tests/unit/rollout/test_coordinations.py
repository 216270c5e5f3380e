"""Coordinations in either of their forms."""

from typing import Any

import msgspec
import pytest

from intact.model.rbg import Coordination, RbgSpec
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    ROLLING_UPDATE,
    RollingRules,
    batching,
    coordination_of,
    of_type,
    rolling_rules,
    type_of,
)
from tests.support.rbg_objects import batches, rolling


def read(**strategy: Any) -> Coordination:
    return msgspec.convert({"name": "pd", "strategy": strategy}, Coordination)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({}, ROLLING_UPDATE),
        ({"rollingUpdate": {"maxSkew": "1%"}}, ROLLING_UPDATE),
        ({"affinityScheduling": {"topologyKey": "zone"}}, AFFINITY_SCHEDULING),
    ],
)
def test_the_strategy_says_the_type_that_is_left_out(strategy: Any, expected: str) -> None:
    assert type_of(read(**strategy)) == expected


def test_both_forms_say_the_same() -> None:
    flat = read(maxSkew="1%", maxUnavailableRatio="5%", partition="80%")
    typed = read(rollingUpdate={"maxSkew": "1%", "maxUnavailable": "5%", "partition": "80%"})
    assert rolling_rules(flat) == rolling_rules(typed) == RollingRules("1%", "5%", "80%")


def test_zero_is_a_rule_and_not_the_lack_of_one() -> None:
    mixed = read(maxSkew=0, rollingUpdate={"maxSkew": "9%", "partition": 0})
    assert rolling_rules(mixed) == RollingRules(0, None, 0)


def test_a_role_may_be_in_one_of_each_type() -> None:
    both = [rolling("a", "b"), batches({"a": 2, "b": 1})]
    spec = msgspec.convert({"coordination": both}, RbgSpec)
    assert [one.name for one in of_type(spec, ROLLING_UPDATE)] == ["together"]
    found = coordination_of(spec, "a", AFFINITY_SCHEDULING)
    assert found is not None
    assert batching(found).ratios == {"a": 2, "b": 1}
    assert coordination_of(spec, "c", AFFINITY_SCHEDULING) is None
