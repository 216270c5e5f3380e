"""Groups and nodes."""

from typing import Any

import pytest

from intact.cli.dashboard.views.cluster import (
    LOOSE,
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_TILES,
    Filter,
    cluster,
)
from tests.support.pictures import node, pdb, pod, pub
from tests.unit.cli.dashboard.shards import moment, shards

Json = dict[str, Any]


def rows(found: Json) -> list[Json]:
    return [row for section in found["sections"] for row in section["rows"]]


def names(found: Json) -> list[str]:
    return [row["name"] for row in rows(found)]


def test_groups_that_are_down_come_first() -> None:
    found = cluster(moment(), Filter())
    assert names(found) == ["s2", "s0", "s1"]
    assert [row["up"] for row in rows(found)] == [False, True, True]
    summary = found["summary"]
    assert (summary["groups"], summary["down"], summary["pods"], summary["nodes"]) == (3, 1, 6, 2)
    states = [[pod["state"] for pod in cell["marks"]] for cell in rows(found)[0]["cells"]]
    assert states == [["ready"], ["unready"], [], []]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(text="S1"), ["s1"]),
        (Filter(text="s2-0"), ["s2"]),
        (Filter(text="nothing"), []),
        (Filter(namespace="llm"), ["s2", "s0", "s1"]),
        (Filter(namespace="other"), []),
        (Filter(node="node-1"), ["s2", "s0", "s1"]),
        (Filter(node="node-9"), []),
        (Filter(budget="pub/llm"), ["s2", "s0", "s1"]),
        (Filter(budget="pdb/llm"), []),
    ],
)
def test_filters(wanted: Filter, expected: list[str]) -> None:
    assert names(cluster(moment(), wanted)) == expected


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (Filter(), ["pdb/llm-pods", "pub/empty", "pub/llm"]),
        (Filter(text="S1"), ["pdb/llm-pods", "pub/llm"]),  # both count s1-0
        (Filter(text="EMPT"), ["pub/empty"]),
        (Filter(text="nothing"), []),
        (Filter(node="node-1"), ["pdb/llm-pods", "pub/llm"]),
        (Filter(node="node-9"), []),
        (Filter(node="node-1", text="empty"), []),
        (Filter(budget="pub/llm"), ["pub/llm"]),
        (Filter(namespace="other"), []),
    ],
)
def test_filters_take_the_budgets_of_what_they_take(wanted: Filter, left: list[str]) -> None:
    empty = pub("empty", selector={"matchLabels": {"app": "no"}})
    found = cluster(moment(pubs=[pub(), empty], pdbs=[pdb()]), wanted)
    assert [one["reference"] for one in found["budgets"]] == left
    assert found["summary"]["budgets"] == len(left)


@pytest.mark.parametrize(
    ("wanted", "pods", "nodes", "cordoned"),
    [
        (Filter(), 7, 3, 1),
        (Filter(namespace="llm"), 7, 3, 1),
        (Filter(text="s1"), 6, 2, 0),  # the row of pdb/llm-pods has all of the shards' pods
        (Filter(budget="pub/llm"), 6, 2, 0),
        (Filter(text="alone"), 1, 1, 1),
        (Filter(namespace="other"), 0, 0, 0),
    ],
)
def test_the_summary_counts_what_the_filter_takes(
    wanted: Filter, pods: int, nodes: int, cordoned: int
) -> None:
    all_pods = [*shards(), pod("alone", node="node-2", labels={"app": "other"})]
    places = [node("node-0"), node("node-1"), node("node-2", cordoned=True)]
    # Two budgets, one of which counts pods, have the shards: each pod counts once.
    found = cluster(moment(all_pods, nodes=places, pdbs=[pdb()]), wanted)
    summary = found["summary"]
    assert (summary["pods"], summary["nodes"], summary["cordoned"]) == (pods, nodes, cordoned)
    assert len(found["tiles"]) == 3


def test_the_filter_of_a_node_leaves_its_column() -> None:
    found = cluster(moment(), Filter(node="node-1"))
    assert [one["name"] for one in found["columns"]] == ["node-1"]
    assert found["other_nodes"] == 1


def test_many_groups_have_pages_and_those_that_are_down_are_on_the_first() -> None:
    count = MOST_ROWS + 5
    at = moment(shards(count))
    first, second = cluster(at, Filter()), cluster(at, Filter(), 2)
    assert names(first)[0] == f"s{count - 1}"
    assert (len(rows(first)), len(rows(second)), first["pages"]) == (MOST_ROWS, 5, 2)
    assert sorted({*names(first), *names(second)}) == sorted(f"s{one}" for one in range(count))


def test_sections_are_those_of_budgets_and_those_with_something_down_come_first() -> None:
    other = [pod(f"t-{number}", group="t", labels={"app": "a"}) for number in range(2)]
    early = pub("a", selector={"matchLabels": {"app": "a"}})
    found = cluster(moment([*other, *shards()], pubs=[early, pub()]), Filter())
    titles = [section["title"] for section in found["sections"]]
    assert titles == ["pub/llm in llm", "pub/a in llm"]
    assert [one["reference"] for one in found["budgets"]] == ["pub/a", "pub/llm"]


def test_budgets_below_what_they_require_come_first() -> None:
    low = pub("z", current=2, desired=3)
    found = cluster(moment(pubs=[pub(), low]), Filter())
    assert [one["reference"] for one in found["budgets"]] == ["pub/z", "pub/llm"]


def test_a_budget_that_counts_pods_has_one_row() -> None:
    found = cluster(moment([pod("a"), pod("b")], pubs=[], pdbs=[pdb()]), Filter())
    assert names(found) == ["pdb/llm-pods"]
    assert found["summary"]["groups"] == 0


def test_with_many_nodes_only_those_of_a_maintenance_have_a_column() -> None:
    nodes = [node(f"node-{number}", cordoned=number == 7) for number in range(MOST_COLUMNS + 1)]
    nodes[3] = node("node-3", ready=False)
    found = cluster(moment(nodes=nodes), Filter())
    columns = [(one["name"], one["cordoned"], one["ready"]) for one in found["columns"]]
    assert columns == [("node-3", False, False), ("node-7", True, True)]
    assert found["other_nodes"] == 2  # those with pods
    assert [len(cell["marks"]) for cell in rows(found)[0]["cells"]] == [0, 0, 2, 0]
    tiles = [(one["name"], one["pods"]) for one in found["tiles"]]
    assert tiles[:3] == [("node-3", 0), ("node-7", 0), ("node-0", 3)]
    assert len(tiles) == len(nodes)


def test_the_nodes_of_a_very_large_cluster_are_cut() -> None:
    nodes = [node(f"node-{number}") for number in range(MOST_TILES + 2)]
    found = cluster(moment(nodes=nodes), Filter())
    assert (len(found["tiles"]), found["more_tiles"]) == (MOST_TILES, 2)


def test_pods_are_shown_on_nodes_that_may_not_be_read() -> None:
    found = cluster(moment(nodes=[]), Filter())
    assert (found["columns"], found["other_nodes"]) == ([], 2)
    [section] = found["sections"]
    assert [len(row["cells"][-2]["marks"]) for row in section["rows"]] == [2, 2, 2]


LOOSE_PODS = [
    pod("alone-0", node="node-0", labels={"app": "other"}),
    pod("alone-1", node="node-1", labels={"app": "other"}, ready=False),
]


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (Filter(), ["alone-0", "alone-1"]),
        (Filter(text="ALONE-1"), ["alone-1"]),
        (Filter(node="node-0"), ["alone-0"]),
        (Filter(namespace="llm"), ["alone-0", "alone-1"]),
        (Filter(namespace="other"), []),
        (Filter(budget="pub/llm"), []),
    ],
)
def test_pods_that_nothing_holds_come_last(wanted: Filter, left: list[str]) -> None:
    found = cluster(moment([*shards(), *LOOSE_PODS]), wanted)
    loose = [one for one in found["sections"] if one["title"] == LOOSE]
    assert loose == (found["sections"][-1:] if left else [])
    shown = [
        mark["name"]
        for one in loose
        for row in one["rows"]
        for cell in row["cells"]
        for mark in cell["marks"]
    ]
    assert shown == left
    assert all(row["up"] for one in loose for row in one["rows"])


def test_on_several_pages_all_that_is_down_comes_before_all_that_is_up() -> None:
    pods = shards(MOST_ROWS + 1)
    pods.append(pod("other", group="t0", labels={"app": "other"}, ready=False))
    budgets = [pub(), pub("zz", selector={"matchLabels": {"app": "other"}})]
    found = cluster(moment(pods, pubs=budgets), Filter())
    assert found["pages"] == 2
    assert [section["title"] for section in found["sections"]] == [
        "pub/llm in llm: down",
        "pub/zz in llm: down",
        "pub/llm in llm",
    ]
    assert [row["up"] for row in rows(found)] == sorted(row["up"] for row in rows(found))
