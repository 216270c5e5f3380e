"""The words of kube-scheduler."""

from intact.sandbox.scheduler.reasons import TAINTED, UNSCHEDULABLE, Refusals, insufficient


def test_reasons_are_counted_and_sorted_as_text() -> None:
    found = Refusals()
    found.add((UNSCHEDULABLE,), resolvable=False)
    for _ in range(10):
        found.add((insufficient("cpu"), insufficient("nvidia.com/gpu")), resolvable=True)
    found.add((TAINTED,), resolvable=False)
    assert found.message() == (
        "0/12 nodes are available: 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 10 Insufficient cpu, 10 Insufficient nvidia.com/gpu. "
        "no new claims to deallocate, "
        "preemption: 0/12 nodes are available: 10 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert found.message(preempts=False).endswith(
        "preemption: not eligible due to preemptionPolicy=Never."
    )


def test_a_cluster_without_nodes_has_its_own_words() -> None:
    assert Refusals().message() == "no nodes available to schedule pods"
