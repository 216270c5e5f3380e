"""Whether a node has what a pod requests, and how well: least allocated, and balanced."""

from intact.sandbox.scheduler.accounts import NodeAccount
from intact.sandbox.scheduler.pods import ANY_ADDRESS, PodInfo, Port
from intact.sandbox.scheduler.reasons import TOO_MANY_PODS, insufficient

MOST = 100
"""The highest score."""


def missing(pod: PodInfo, node: NodeAccount) -> tuple[str, ...]:
    """What the node lacks: nothing, if the pod fits."""
    found: list[str] = []
    if len(node.pods) + 1 > node.allowed_pods:
        found.append(TOO_MANY_PODS)
    free = node.free
    for name, number in pod.requests.items():
        if number and number > free.get(name, 0):
            found.append(insufficient(name))
    return tuple(found)


def could_fit(pod: PodInfo, node: NodeAccount) -> bool:
    """Whether the pod would fit if the node were empty."""
    return all(
        number <= node.allocatable.get(name, 0) for name, number in pod.requests.items() if number
    )


def ports_conflict(pod: PodInfo, node: NodeAccount) -> bool:
    return any(_clash(wanted, taken) for wanted in pod.ports for taken in node.ports)


def _clash(one: Port, other: Port) -> bool:
    return (one[0], one[2]) == (other[0], other[2]) and (
        one[1] == other[1] or ANY_ADDRESS in (one[1], other[1])
    )


def least_allocated(pod: PodInfo, node: NodeAccount) -> int:
    """The more is free after the pod has come, the better. A container without requests counts as
    if it had some."""
    cpu, memory = node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0)
    score = kinds = 0
    if cpu:
        used = node.counted_cpu + pod.counted[0]
        score += (cpu - used) * MOST // cpu if used <= cpu else 0
        kinds += 1
    if memory:
        used = node.counted_memory + pod.counted[1]
        score += (memory - used) * MOST // memory if used <= memory else 0
        kinds += 1
    return score // kinds if kinds else 0


def balanced(pod: PodInfo, node: NodeAccount) -> int:
    """The closer cpu and memory are used alike after the pod has come, the better."""
    cpu, memory = node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0)
    if not cpu or not memory:
        return MOST * 3 // 4
    used_cpu, used_memory = cpu - node.free["cpu"], memory - node.free["memory"]
    before = _balance(used_cpu / cpu, used_memory / memory)
    used_cpu += pod.requests.get("cpu", 0)
    used_memory += pod.requests.get("memory", 0)
    after = _balance(used_cpu / cpu, used_memory / memory)
    return MOST // 2 + int((MOST // 2 + after - before) / 2)  # Go rounds towards zero


def _balance(cpu: float, memory: float) -> int:
    cpu = cpu if cpu < 1 else 1.0
    memory = memory if memory < 1 else 1.0
    return int((1 - abs(cpu - memory) / 2) * MOST)
