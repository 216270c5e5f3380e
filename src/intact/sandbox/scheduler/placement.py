"""One decision: the best node for a pod, or why there is none.

Filters in the order of kube-scheduler's default plugins, the first that refuses a node gives the
reason; then its default scores with their weights. Of the nodes with the highest score, the next
one after the last choice is taken, where kube-scheduler throws dice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from intact.sandbox.scheduler import neighbours, spreading
from intact.sandbox.scheduler.accounts import Accounts, NodeAccount
from intact.sandbox.scheduler.eligibility import Eligibility, Eligible
from intact.sandbox.scheduler.node_affinity import has_preferences, preference
from intact.sandbox.scheduler.pods import Chosen, PodInfo, Spread
from intact.sandbox.scheduler.reasons import PORTS, SPREAD, Refusals
from intact.sandbox.scheduler.resources import (
    MOST,
    balanced,
    could_fit,
    least_allocated,
    missing,
    ports_conflict,
)
from intact.sandbox.scheduler.taints import untolerated

_LEAST_LOOKED_AT = 100
"""Suitable nodes among which the best is looked for, at least."""

DefaultPods = Callable[[PodInfo], Chosen | None]
"""The pods among which one without constraints is spread, if it is one of several."""


@dataclass(frozen=True, slots=True)
class Placement:
    node: str
    """Empty if there is none."""
    refusals: Refusals


class Placer:
    def __init__(self, accounts: Accounts, default_pods: DefaultPods) -> None:
        self._accounts = accounts
        self._eligibility = Eligibility(accounts)
        self._default_pods = default_pods
        self._start = 0
        """Where the next search begins."""
        self._last = ""
        """The node that was chosen last."""

    def place(self, pod: PodInfo) -> Placement:
        eligible = self._eligibility.of(pod.spec)
        refusals = eligible.refusals()
        feasible = self._feasible(pod, eligible, refusals)
        if not feasible:
            return Placement("", refusals)
        best = feasible
        if len(feasible) > 1:
            scores = self._scores(pod, eligible, feasible)
            most = max(scores)
            best = [node for node, score in zip(feasible, scores, strict=True) if score == most]
        self._last = self._next(best)
        return Placement(self._last, refusals)

    def refusal(self, pod: PodInfo, node: NodeAccount) -> tuple[str, ...] | None:
        """Why a node that is open to the pod does not take it, if it does not."""
        eligible = self._eligibility.of(pod.spec)
        limits = spreading.limits(pod, self._accounts, eligible)
        found = _refusal(pod, node, limits, neighbours.neighbourhood(pod, self._accounts))
        return found[0] if found is not None else None

    def resolvable(self, pod: PodInfo) -> list[NodeAccount]:
        """Nodes that would take the pod if some of their pods went."""
        eligible = self._eligibility.of(pod.spec)
        limits = spreading.limits(pod, self._accounts, eligible)
        near = neighbours.neighbourhood(pod, self._accounts)
        refused = [(node, _refusal(pod, node, limits, near)) for node in eligible.nodes]
        return [node for node, refusal in refused if refusal is not None and refusal[1]]

    def _next(self, nodes: Sequence[NodeAccount]) -> str:
        names = sorted(node.name for node in nodes)
        return next((name for name in names if name > self._last), names[0])

    def _feasible(self, pod: PodInfo, eligible: Eligible, refusals: Refusals) -> list[NodeAccount]:
        """Suitable nodes: all of up to a hundred, then as many as kube-scheduler looks at."""
        limits = spreading.limits(pod, self._accounts, eligible)
        near = neighbours.neighbourhood(pod, self._accounts)
        enough = _enough(len(self._accounts.nodes))
        nodes = eligible.nodes
        start = self._start % len(nodes) if len(nodes) > enough else 0
        found: list[NodeAccount] = []
        looked = 0
        for node in (*nodes[start:], *nodes[:start]) if start else nodes:
            looked += 1
            refusal = _refusal(pod, node, limits, near)
            if refusal is not None:
                refusals.add(refusal[0], resolvable=refusal[1])
                continue
            found.append(node)
            if len(found) >= enough:
                break
        if len(nodes) > enough:
            self._start = (start + looked) % len(nodes)
        return found

    def _scores(self, pod: PodInfo, eligible: Eligible, nodes: Sequence[NodeAccount]) -> list[int]:
        totals = [least_allocated(pod, node) for node in nodes]
        if pod.requests.get("cpu") or pod.requests.get("memory"):
            _add(totals, 1, [balanced(pod, node) for node in nodes])
        _add(totals, 3, _taint_scores(pod, nodes))
        if has_preferences(pod.spec):
            _add(totals, 2, _affinity_scores(pod, nodes))
        _add(totals, 2, self._spread_scores(pod, eligible, nodes))
        _add(totals, 2, neighbours.scores(pod, self._accounts, nodes))
        return totals

    def _spread_scores(
        self, pod: PodInfo, eligible: Eligible, nodes: Sequence[NodeAccount]
    ) -> list[int] | None:
        own = bool(pod.spec.get("topologySpreadConstraints"))
        if own:
            constraints = pod.spreads("ScheduleAnyway")
        else:
            among = self._default_pods(pod)
            constraints = (
                [Spread(key, skew, among) for key, skew in spreading.DEFAULTS] if among else []
            )
        if not constraints:
            return None
        return spreading.scores(
            pod, constraints, self._accounts, eligible, nodes, requires_keys=own
        )


def _refusal(
    pod: PodInfo,
    node: NodeAccount,
    limits: Sequence[spreading.Limit],
    near: neighbours.Neighbourhood | None,
) -> tuple[tuple[str, ...], bool] | None:
    """The reasons of the first filter that refuses the node, and whether the removal of pods could
    change that."""
    if pod.ports and ports_conflict(pod, node):
        return (PORTS,), True
    lacks = missing(pod, node)
    if lacks:
        return lacks, could_fit(pod, node)
    if limits:
        reason = spreading.breaks(limits, node)
        if reason:
            return (reason,), reason == SPREAD
    if near is not None:
        refusal = near.refusal(node)
        if refusal is not None:
            return (refusal[0],), refusal[1]
    return None


def _enough(nodes: int) -> int:
    """Of up to a hundred nodes all; of more, half, and less the more there are."""
    percentage = max(50 - nodes // 125, 5)
    return max(nodes * percentage // 100, _LEAST_LOOKED_AT)


def _add(totals: list[int], weight: int, scores: Sequence[int] | None) -> None:
    if scores is not None:
        for index, score in enumerate(scores):
            totals[index] += weight * score


def _taint_scores(pod: PodInfo, nodes: Sequence[NodeAccount]) -> list[int] | None:
    """Nodes with fewer taints that the pod had better not meet are better."""
    if not any(node.taints for node in nodes):
        return None
    tolerations = [
        each
        for each in pod.spec.get("tolerations") or ()
        if each.get("effect") in (None, "", "PreferNoSchedule")
    ]
    raw = [len(untolerated(node.taints, tolerations, ("PreferNoSchedule",))) for node in nodes]
    most = max(raw)
    return [MOST - MOST * each // most for each in raw] if most else None


def _affinity_scores(pod: PodInfo, nodes: Sequence[NodeAccount]) -> list[int] | None:
    raw = [preference(pod.spec, node.name, node.labels) for node in nodes]
    most = max(raw)
    return [MOST * each // most for each in raw] if most else None
