"""Which pods of a lower priority have to go for a pod, on the node where that hurts least.

On each node all of them are taken away first. If the pod fits then, as many as possible come back:
those under a spent budget first, then the more important ones. The books are used for this, and are
as before when it is done.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from intact.sandbox.scheduler.accounts import Accounts, NodeAccount
from intact.sandbox.scheduler.placement import Placer
from intact.sandbox.scheduler.pods import PodInfo
from intact.sandbox.scheduler.reasons import NO_VICTIMS, Refusals

Violating = Callable[[Sequence[PodInfo]], list[PodInfo]]
"""Those of some pods, the most important first, whose loss their budgets do not allow."""


@dataclass(frozen=True, slots=True)
class Preemption:
    node: str
    victims: tuple[PodInfo, ...]
    """The most important first."""
    violations: int
    """Victims that a budget should have kept."""


def preemption(
    pod: PodInfo, accounts: Accounts, placer: Placer, refusals: Refusals, violating: Violating
) -> Preemption | None:
    """None if no node would take the pod; the refusals then tell why."""
    if min(accounts.priorities, default=pod.priority) >= pod.priority:
        return None
    answers: Counter[str] = Counter()
    found = []
    for node in placer.resolvable(pod):
        lower = sorted(
            (each for each in node.pods.values() if each.priority < pod.priority), key=_importance
        )
        if not lower:
            answers[NO_VICTIMS] += 1
            continue
        candidate = _on_node(pod, node, lower, accounts, placer, violating)
        if isinstance(candidate, Preemption):
            found.append(candidate)
        else:
            answers.update(candidate)
    if not found:
        refusals.answers = answers
        return None
    return _best(found)


def _on_node(
    pod: PodInfo,
    node: NodeAccount,
    lower: Sequence[PodInfo],
    accounts: Accounts,
    placer: Placer,
    violating: Violating,
) -> Preemption | tuple[str, ...]:
    for each in lower:
        accounts.remove_pod(each.uid)
    away = {each.uid: each for each in lower}
    try:
        refusal = placer.refusal(pod, node)
        if refusal is not None:
            return refusal
        kept_by_budgets = violating(lower)
        uids = {each.uid for each in kept_by_budgets}
        violations = 0
        for each in (*kept_by_budgets, *(each for each in lower if each.uid not in uids)):
            accounts.put_pod(each, node.name)
            if placer.refusal(pod, node) is None:
                del away[each.uid]
            else:
                accounts.remove_pod(each.uid)
                violations += each.uid in uids
        return Preemption(node.name, tuple(away.values()), violations)
    finally:
        for each in away.values():
            accounts.put_pod(each, node.name)


def _best(found: Sequence[Preemption]) -> Preemption:
    def cost(one: Preemption) -> tuple[int, int, int, int]:
        priorities = [each.priority for each in one.victims]
        # kube-scheduler lifts priorities above zero, so that more victims are never better.
        total = sum(priority + 2**31 for priority in priorities)
        return one.violations, priorities[0], total, len(priorities)

    least = min(cost(each) for each in found)
    cheapest = [each for each in found if cost(each) == least]
    return max(cheapest, key=_youngest)


def _youngest(one: Preemption) -> str:
    """When the first of its most important victims started."""
    highest = one.victims[0].priority
    return min(each.since for each in one.victims if each.priority == highest)


def _importance(pod: PodInfo) -> tuple[int, str]:
    return -pod.priority, pod.since
