"""The topology domains of nodes."""

from intact.model.meta import ObjectMeta
from intact.model.places import Node, NodeSpec
from intact.operator.rbg.pods.domains import Domains, read_domains
from tests.support.objects import NODES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.rbg.scene import grouping

ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str = "", *, unschedulable: bool = False) -> Node:
    meta = ObjectMeta(name=name, labels={ZONE: zone} if zone else {})
    return Node(metadata=meta, spec=NodeSpec(unschedulable=unschedulable))


def test_a_node_is_in_the_domain_that_its_label_names() -> None:
    found = Domains(ZONE, [node("a", zone="east"), node("b", zone="east"), node("c")])
    assert [found.of_node(name) for name in "abcd"] == ["east", "east", "c", "d"]


def test_a_domain_without_a_node_that_takes_pods_is_not_usable() -> None:
    nodes = [
        node("a", zone="east"),
        node("b", zone="east", unschedulable=True),
        node("c", zone="west", unschedulable=True),
    ]
    found = Domains(ZONE, nodes)
    assert [found.usable(name) for name in ("east", "west", "north")] == [True, False, False]


@simulated
async def test_nodes_are_read_and_may_be_gone() -> None:
    async with grouping() as scene:
        body = {"metadata": {"name": "a", "labels": {ZONE: "east"}}, "spec": {}}
        await scene.client.create(NODES, body)
        found = await read_domains(scene.client, ZONE, ["a", "gone"])
        assert (found.of_node("a"), found.of_node("gone")) == ("east", "gone")
        assert not found.usable("gone")
