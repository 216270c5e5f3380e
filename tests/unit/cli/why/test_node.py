"""`intact why node/NAME`, word for word."""

import msgspec

from intact.cli.why.node import about_node
from intact.model.places import Node
from tests.support.pictures import NOW, ago, group, node, picture, pod, pub, unschedulable

DOWN = unschedulable("shard-0-0", ago(minutes=4), group="shard-0")
PODS = [
    *group("shard-1", node="node-1"),
    *group("shard-2", node="node-2"),
    DOWN,
    pod("lone", node="node-1", labels={"app": "x"}),
    pod("agent", node="node-1", owner=("DaemonSet", "agent"), labels={"app": "x"}),
]
FOUND = picture(*PODS, pubs=[pub(need=2, ledger={"unavailable_groups": ["shard-0"]})])


def cordoned(found: Node) -> Node:
    spec = msgspec.structs.replace(found.spec, unschedulable=True)
    return msgspec.structs.replace(found, spec=spec)


def test_its_pods_are_gathered_by_what_holds_them() -> None:
    found = about_node(FOUND, cordoned(node("node-1")), NOW)
    assert list(found.lines) == [
        "node node-1 (ready, cordoned) has 4 pods: 1 may go, 2 wait",
        "  llm pub/llm   3 of 4 groups are available, the budget requires 3   waits for 4m",
        "    holds 2 pods: shard-1-0, shard-1-1",
        (
            "    shard-0 is down for 4m: shard-0-0 Pending, "
            "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu; 1 pod does not exist"
        ),
        "    They may go when shard-0 is ready again.",
        "  may go now: llm/lone",
        "  drains leave: llm/agent",
    ]
    assert found.exit_code == 3


def test_pods_that_drains_leave_do_not_count() -> None:
    only = picture(PODS[-1])
    found = about_node(only, node("node-1", ready=False), NOW)
    assert list(found.lines) == [
        "node node-1 (not ready) has 1 pod",
        "  drains leave: llm/agent",
    ]
    assert found.exit_code == 0


def test_a_document_has_holders_and_pods() -> None:
    found = about_node(FOUND, node("node-1"), NOW).document
    assert (found["kind"], found["name"], found["ready"]) == ("node", "node-1", True)
    assert [one["name"] for one in found["holders"]] == ["pub/llm"]
    assert len(found["pods"]) == 4
