"""Which nodes are open to a pod, whatever runs on them: cordons, taints, selectors, affinity.

Pods of one workload ask the same: the answer is kept until a node changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from intact.sandbox.api.objects import Json, encode
from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.accounts import Accounts, NodeAccount
from intact.sandbox.scheduler.node_affinity import matches, named_nodes
from intact.sandbox.scheduler.reasons import Refusals
from intact.sandbox.scheduler.taints import BLOCKING, tolerates_cordon, untolerated


@dataclass(frozen=True, slots=True)
class Eligible:
    nodes: tuple[NodeAccount, ...]
    refused: Mapping[str, int]
    """How many nodes for which reason."""
    matching: frozenset[str]
    """Nodes that suit its node selector and affinity."""
    tolerated: frozenset[str]
    """Nodes without a taint that it does not tolerate."""

    def refusals(self) -> Refusals:
        found = Refusals()
        for reason, number in self.refused.items():
            found.reasons[reason] = number
            found.nodes += number
        return found


class Eligibility:
    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._known: dict[bytes, Eligible] = {}
        self._version = -1

    def of(self, spec: Json) -> Eligible:
        if self._version != self._accounts.node_version:
            self._known.clear()
            self._version = self._accounts.node_version
        asked = encode(
            (
                spec.get("nodeSelector"),
                (spec.get("affinity") or {}).get("nodeAffinity"),
                spec.get("tolerations"),
            )
        )
        found = self._known.get(asked)
        if found is None:
            found = self._known[asked] = eligible(spec, self._accounts.nodes)
        return found


def eligible(spec: Json, nodes: Mapping[str, NodeAccount]) -> Eligible:
    tolerations = spec.get("tolerations") or ()
    ignores_cordon = tolerates_cordon(tolerations)
    named = named_nodes(spec)
    open_nodes: list[NodeAccount] = []
    refused: dict[str, int] = {}
    matching, tolerated = [], []
    for name, node in nodes.items():
        suits = matches(spec, name, node.labels)
        stands = not untolerated(node.taints, tolerations, BLOCKING)
        if suits:
            matching.append(name)
        if stands:
            tolerated.append(name)
        if named is not None and name not in named:
            reason = reasons.NOT_NAMED
        elif node.is_unschedulable and not ignores_cordon:
            reason = reasons.UNSCHEDULABLE
        elif not stands:
            reason = reasons.TAINTED
        elif not suits:
            reason = reasons.NODE_AFFINITY
        else:
            open_nodes.append(node)
            continue
        refused[reason] = refused.get(reason, 0) + 1
    return Eligible(tuple(open_nodes), refused, frozenset(matching), frozenset(tolerated))
