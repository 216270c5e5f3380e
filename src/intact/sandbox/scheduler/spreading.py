"""Topology spread: constraints that must hold, and those that only score."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intact.sandbox.scheduler.accounts import Accounts, NodeAccount
from intact.sandbox.scheduler.eligibility import Eligible
from intact.sandbox.scheduler.pods import PodInfo, Spread
from intact.sandbox.scheduler.reasons import SPREAD, SPREAD_LABEL
from intact.sandbox.scheduler.resources import MOST
from intact.sandbox.scheduler.selected import Counts

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DEFAULTS = ((HOSTNAME, 3), (ZONE, 5))
"""Topology keys and skews for pods without constraints of their own. They only score."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A constraint that must hold, as the cluster is now."""

    key: str
    counts: Mapping[str, int]
    """Pods of each domain that counts."""
    most: int
    """Pods that a domain may have without this one."""


def limits(pod: PodInfo, accounts: Accounts, eligible: Eligible) -> list[Limit]:
    constraints = pod.spreads("DoNotSchedule")
    if not constraints:
        return []
    counted = [node for node in accounts.nodes.values() if _has_keys(node, constraints)]
    return [_limit(each, pod, accounts, eligible, counted) for each in constraints]


def _limit(
    spread: Spread,
    pod: PodInfo,
    accounts: Accounts,
    eligible: Eligible,
    nodes: Sequence[NodeAccount],
) -> Limit:
    by_node = _counts(spread, pod, accounts)
    domains: dict[str, int] = {}
    for node in nodes:
        if _is_included(spread, node, eligible):
            value = node.labels[spread.topology_key]
            domains[value] = domains.get(value, 0) + by_node.get(node.name, 0)
    # Without any domain, kube-scheduler takes the largest number for the lowest count.
    lowest = min(domains.values()) if domains else 2**31 - 1
    if len(domains) < spread.least_domains:
        lowest = 0
    selector = spread.pods.selector()
    itself = selector is not None and selector.selects(pod.labels)
    return Limit(spread.topology_key, domains, lowest + spread.max_skew - itself)


def breaks(limits: Sequence[Limit], node: NodeAccount) -> str:
    """The reason why the node would break a limit; empty if it breaks none."""
    for limit in limits:
        value = node.labels.get(limit.key)
        if value is None:
            return SPREAD_LABEL
        if limit.counts.get(value, 0) > limit.most:
            return SPREAD
    return ""


def scores(
    pod: PodInfo,
    constraints: Sequence[Spread],
    accounts: Accounts,
    eligible: Eligible,
    nodes: Sequence[NodeAccount],
    *,
    requires_keys: bool,
) -> list[int]:
    """One score for each of the nodes, none of which breaks a limit. Of constraints that the pod
    itself has, a node needs all keys; of the defaults, it need not have a zone."""
    ranked = [not requires_keys or _has_keys(node, constraints) for node in nodes]
    raw = [0.0] * len(nodes)
    for spread in constraints:
        by_node = _counts(spread, pod, accounts)
        key = spread.topology_key
        if key == HOSTNAME:
            weight = math.log(sum(ranked) + 2)
            for index, node in enumerate(nodes):
                if ranked[index] and key in node.labels:
                    raw[index] += by_node.get(node.name, 0) * weight + spread.max_skew - 1
            continue
        domains = {node.labels.get(key, ""): 0 for index, node in enumerate(nodes) if ranked[index]}
        for node in accounts.nodes.values():
            value = node.labels.get(key, "")
            if (
                value in domains
                and node.name in by_node
                and (not requires_keys or _has_keys(node, constraints))
                and _is_included(spread, node, eligible)
            ):
                domains[value] += by_node[node.name]
        weight = math.log(len(domains) + 2)
        for index, node in enumerate(nodes):
            if ranked[index] and key in node.labels:
                raw[index] += domains[node.labels[key]] * weight + spread.max_skew - 1
    return _normalized([_rounded(each) for each in raw], ranked)


def _normalized(raw: list[int], ranked: list[bool]) -> list[int]:
    known = [score for score, counts in zip(raw, ranked, strict=True) if counts]
    least, most = min(known, default=0), max(known, default=0)
    found = []
    for score, counts in zip(raw, ranked, strict=True):
        if not counts:
            found.append(0)
        elif most == 0:
            found.append(MOST)
        else:
            found.append(MOST * (most + least - score) // most)
    return found


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)


def _counts(spread: Spread, pod: PodInfo, accounts: Accounts) -> Counts:
    if spread.pods.is_everything:
        return {}  # kube-scheduler counts no pods for an empty selector
    return accounts.selected.counts(frozenset((pod.namespace,)), spread.pods, terminating=False)


def _has_keys(node: NodeAccount, constraints: Sequence[Spread]) -> bool:
    return all(each.topology_key in node.labels for each in constraints)


def _is_included(spread: Spread, node: NodeAccount, eligible: Eligible) -> bool:
    return (not spread.honors_affinity or node.name in eligible.matching) and (
        not spread.honors_taints or node.name in eligible.tolerated
    )
