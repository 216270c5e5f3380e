"""Which pods a PodDisruptionBudget would not let go: the scheduler spares them if it can."""

from collections.abc import Sequence

from intact.sandbox.api.objects import Json
from intact.sandbox.api.selectors import label_selector
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.scheduler.pods import PodInfo


def violating(api: MemoryApi, pods: Sequence[PodInfo]) -> list[PodInfo]:
    """As many pods go as their budgets allow, in the given order; those beyond."""
    budgets: dict[str, list[tuple[Json, int]]] = {}
    found = []
    for pod in pods:
        known = budgets.get(pod.namespace)
        if known is None:
            known = budgets[pod.namespace] = [
                (each, (each.get("status") or {}).get("disruptionsAllowed", 0))
                for each in api.objects("poddisruptionbudgets.policy", pod.namespace)
            ]
        violates = False
        for index, (budget, allowed) in enumerate(known):
            if not _selects(budget, pod):
                continue
            if pod.name in ((budget.get("status") or {}).get("disruptedPods") or {}):
                continue
            known[index] = budget, allowed - 1
            violates |= allowed < 1
        if violates:
            found.append(pod)
    return found


def _selects(budget: Json, pod: PodInfo) -> bool:
    """To the scheduler, an empty selector selects nothing."""
    selector = budget["spec"].get("selector") or {}
    if not pod.labels or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return False
    try:
        return label_selector(selector)(pod.labels)
    except ValueError:
        return False
