"""When a node must be empty, as its annotations and those of its NodeClaim say."""

from datetime import UTC, datetime, timedelta

import pytest

from intact.budget.pub.node_deadline import (
    DRAIN_DEADLINE,
    KARPENTER_DEADLINE,
    NodeDeadline,
    deadline_of,
)
from intact.model.meta import ObjectMeta
from intact.model.places import Node, NodeClaim

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def read(annotations: dict[str, str], claimed: dict[str, str] | None = None) -> NodeDeadline | None:
    """Of a node with these annotations, and its NodeClaim with those, if it has one."""
    node = Node(metadata=ObjectMeta(name="a", annotations=annotations))
    if claimed is None:
        return deadline_of(node)
    return deadline_of(node, NodeClaim(metadata=ObjectMeta(annotations=claimed)))


@pytest.mark.parametrize(
    ("annotations", "claimed", "at"),
    [
        ({DRAIN_DEADLINE: "2026-01-31T12:00:00Z"}, None, NOON),
        ({DRAIN_DEADLINE: "2026-01-31T13:00:00+01:00"}, None, NOON),
        ({DRAIN_DEADLINE: "2026-01-31T03:00:00.000-09:00"}, None, NOON),
        ({DRAIN_DEADLINE: "2026-01-31t12:00:00z"}, None, NOON),
        ({DRAIN_DEADLINE: "2026-01-31 12:00:00Z"}, None, NOON),
        ({KARPENTER_DEADLINE: "2026-01-31T12:00:00Z"}, {}, NOON),
        ({}, {KARPENTER_DEADLINE: "2026-01-31T12:00:00Z"}, NOON),
        # The earlier one counts.
        (
            {DRAIN_DEADLINE: "2026-01-31T12:00:00Z", KARPENTER_DEADLINE: "2026-02-01T00:00:00Z"},
            None,
            NOON,
        ),
        (
            {DRAIN_DEADLINE: "2027-01-01T00:00:00Z"},
            {KARPENTER_DEADLINE: "2026-01-31T12:00:00Z"},
            NOON,
        ),
        # One that cannot be read does not hide the other.
        ({DRAIN_DEADLINE: "noon"}, {KARPENTER_DEADLINE: "2026-01-31T12:00:00Z"}, NOON),
    ],
    ids=str,
)
def test_a_node_or_its_claim_has_a_deadline(
    annotations: dict[str, str], claimed: dict[str, str] | None, at: datetime
) -> None:
    found = read(annotations, claimed)
    assert found is not None
    assert found.at == at


@pytest.mark.parametrize("claimed", [None, {}, {DRAIN_DEADLINE: "2026-01-31T12:00:00Z"}], ids=str)
def test_other_annotations_are_none(claimed: dict[str, str] | None) -> None:
    assert read({"note": "2026-01-31T12:00:00Z"}, claimed) is None


NO_TIMES = (
    "",
    "soon",
    "9999-12-31T23:59:59Z",
    "2026-13-01T00:00:00Z",
    "x" * 5000,
    # A day, and a time of no zone: when they end is not said.
    "2026-01-31",
    "2026-01-31T12:00:00",
    # Milliseconds, which are the ninth of December 1763 to the calendar of ISO 8601.
    "1763120900000",
)


@pytest.mark.parametrize("value", NO_TIMES)
def test_what_is_not_a_time_is_named_and_never_comes(value: str) -> None:
    found = read({DRAIN_DEADLINE: value})
    assert found is not None
    assert found.problem.startswith(f"{DRAIN_DEADLINE} of the node a is {value[:60]!r}"[:-1])
    assert len(found.problem) < 300
    assert not found.has_come(datetime(9999, 12, 31, tzinfo=UTC))
    assert found.text == ""


def test_it_comes_at_its_second() -> None:
    found = NodeDeadline("a", NOON)
    assert not found.has_come(NOON - timedelta(microseconds=1))
    assert found.has_come(NOON)
    assert found.text == "node a must be empty by 2026-01-31T12:00:00Z"
