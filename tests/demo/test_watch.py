"""What the watch makes of pods: their states, and how many groups were down at worst."""

import pytest

from demo.watch import GroupsDown, PodState, state_of
from intact.model.pod import Pod, PodCondition, PodMeta, PodSpec, PodStatus


def pod(name: str, *, ready: bool = True, node: str = "node-0", going: bool = False) -> Pod:
    status = PodStatus(conditions=[PodCondition(type="Ready", status="True" if ready else "False")])
    metadata = PodMeta(
        name=name,
        namespace="llm",
        uid=name,
        labels={"shard": name[0]},
        deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
    )
    return Pod(metadata=metadata, spec=PodSpec(node_name=node), status=status)


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (pod("a-0"), PodState.READY),
        (pod("a-0", ready=False), PodState.NOT_READY),
        (pod("a-0", going=True), PodState.TERMINATING),
        (pod("a-0", ready=False, node=""), PodState.PENDING),
    ],
)
def test_a_pod_is_ready_not_ready_terminating_or_pending(seen: Pod, state: PodState) -> None:
    assert state_of(seen) is state


def test_the_worst_moment_is_kept_after_it_has_passed() -> None:
    down = GroupsDown(["a", "b"], "shard", need=1)
    a, b = pod("a-0"), pod("b-0")
    down.observe(None, a)
    down.observe(None, b)
    down.begin()
    assert (down.now, down.worst) == ([], 0)
    down.observe(a, pod("a-0", going=True))
    down.observe(b, None)
    down.observe(None, pod("b-0"))
    assert (down.now, down.worst, down.events) == (["a"], 2, 3)
