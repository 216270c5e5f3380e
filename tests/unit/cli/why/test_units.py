"""Units that are down, in one line each."""

import pytest

from intact.cli.why.units import for_how_long, unit_document, unit_line, unit_lines
from intact.picture.causes import waited
from intact.picture.units import UnitPicture, unit_picture
from tests.support.pictures import NOW, ago, pod, unschedulable

SCHEDULER = "Pending, Unschedulable: 0/3 nodes have 8 nvidia.com/gpu"
STUCK = unschedulable("a", ago(minutes=4, seconds=12))
BROKEN = [pod(f"x{number}", ready=False, since=ago(seconds=9)) for number in range(5)]


def group(*pods: object, need: int | None = 1) -> UnitPicture:
    return unit_picture("llm", "shard-0", need, pods, is_group=True)  # type: ignore[arg-type]


ALONE = unit_picture("llm", "a", 1, [STUCK], is_group=False)
ABSENT = UnitPicture("llm", "shard-9", True, 1, (), 0, ago(minutes=1))


@pytest.mark.parametrize(
    ("unit", "line"),
    [
        (group(STUCK), f"shard-0 is down for 4m12s: a {SCHEDULER}"),
        (ALONE, f"a is down for 4m12s: {SCHEDULER}"),
        (
            group(pod("b", deleted=ago(seconds=7))),
            "shard-0 is down for 7s: b Terminating for 7s",
        ),
        (
            group(*BROKEN, need=7),
            (
                "shard-0 is down for 9s: x0 Running, not ready; x1 Running, not ready; "
                "x2 Running, not ready; 2 more pods; 2 pods do not exist"
            ),
        ),
        (group(STUCK, need=None), "shard-0 is unknown: nothing says how many pods it needs"),
        (ABSENT, "shard-9 has no pods for 60s"),
        (group(pod("a"), need=2), "shard-0 is down: 1 pod does not exist"),
    ],
)
def test_the_line_names_the_pods_and_their_causes(unit: UnitPicture, line: str) -> None:
    assert unit_line(waited(unit), NOW) == line


def test_many_units_are_counted() -> None:
    lines = unit_lines([waited(ALONE)] * 7, NOW, "    ")
    assert len(lines) == 6
    assert lines[-1] == "    and 2 more"


def test_what_is_no_time_is_not_known() -> None:
    assert for_how_long("", NOW) == ""
    assert for_how_long(ago(minutes=3), NOW) == "3m"


def test_a_document_has_pods_and_causes() -> None:
    found = unit_document(group(STUCK, pod("b"), need=2), pods=True)
    assert found == {
        "name": "shard-0",
        "kind": "group",
        "state": "down",
        "available": 1,
        "need": 2,
        "since": ago(minutes=4, seconds=12),
        "nodes": ["node-0"],
        "causes": [
            {
                "pod": "a",
                "phase": "Pending",
                "text": "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu",
                "since": ago(minutes=4, seconds=12),
            }
        ],
        "pods": [
            {"name": "a", "node": None, "available": False},
            {"name": "b", "node": "node-0", "available": True},
        ],
    }
    assert unit_document(group(pod("b")))["causes"] == []
