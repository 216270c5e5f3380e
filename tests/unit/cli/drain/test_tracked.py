"""What a drain says about a pod."""

from intact.cli.drain.events import Event, What
from intact.cli.drain.tracked import State, Tracked
from tests.unit.cli.drain.objects import pod


def test_an_event_names_the_pod_its_node_and_its_group() -> None:
    one = Tracked(pod("a-0", node="node-1"), group="a")
    said = one.about(What.REFUSED, "not now", "pdb/a")
    assert said == Event(
        What.REFUSED,
        node="node-1",
        namespace=one.pod.metadata.namespace,
        pod="a-0",
        uid=one.pod.metadata.uid,
        group="a",
        budget="pdb/a",
        message="not now",
    )


def test_a_pod_waits_at_first() -> None:
    one = Tracked(pod("a-0", node="node-1"))
    assert (one.state, one.node) == (State.WAITING, "node-1")
