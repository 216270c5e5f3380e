"""Live counts of pods: after each change the same as counting from scratch."""

import pytest

from intact.budget.pdb.pod_counts import PodCounts, is_healthy
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import a_pod


def facts(counts: PodCounts) -> tuple[int, int, int, set[str]]:
    return counts.pods, counts.healthy, counts.unmanaged, set(counts.controllers)


def test_pods_come_change_and_go() -> None:
    counts = PodCounts()
    assert counts.put(a_pod("p", owner="set"))
    assert counts.put(a_pod("q", owner="set", ready=False))
    assert counts.put(a_pod("r"))
    assert facts(counts) == (3, 2, 1, {"set"})
    assert counts.put(a_pod("q", owner="set"))
    assert facts(counts) == (3, 3, 1, {"set"})
    assert counts.put(a_pod("p", owner="other"))
    assert facts(counts) == (3, 3, 1, {"set", "other"})
    assert counts.remove("uid-q")
    assert counts.remove("uid-r")
    assert facts(counts) == (1, 1, 0, {"other"})
    assert "uid-p" in counts
    assert "uid-q" not in counts


def test_an_event_that_changes_no_count_returns_false() -> None:
    counts = PodCounts()
    counts.put(a_pod("p", owner="set"))
    assert not counts.put(a_pod("p", owner="set", version="2"))
    assert not counts.remove("uid-q")


@pytest.mark.parametrize(
    ("pod", "healthy"),
    [
        (a_pod("p"), True),
        (a_pod("p", ready=False), False),
        (a_pod("p", going=True), False),
    ],
)
def test_a_healthy_pod_is_ready_and_not_terminating(pod: Pod, healthy: bool) -> None:
    assert is_healthy(pod) == healthy
    counts = PodCounts()
    counts.put(pod)
    assert counts.is_healthy("uid-p") == healthy
