"""Pod affinity and anti-affinity: required, preferred, and those of the pods that are there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intact.sandbox.scheduler import reasons
from intact.sandbox.scheduler.accounts import Accounts, NodeAccount
from intact.sandbox.scheduler.pods import Chosen, PodInfo, Term
from intact.sandbox.scheduler.resources import MOST
from intact.sandbox.scheduler.selected import Counts
from intact.sandbox.scheduler.terms import is_about, namespaces_of

Domains = dict[str, set[str]]
"""Values by topology key."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Where a pod may be, as far as other pods are concerned."""

    required: tuple[str, ...]
    """The topology keys of its affinity."""
    wanted: Domains
    """Domains with pods that all terms of its affinity are about."""
    is_first: bool
    """No pod is, and it is one of those itself: it may go anywhere."""
    repelled: Domains
    repelling: Domains
    """Domains of pods whose anti-affinity is about this pod."""

    def refusal(self, node: NodeAccount) -> tuple[str, bool] | None:
        """Why the node will not do, and whether the removal of pods could change that."""
        labels = node.labels
        near = True
        for key in self.required:
            if key not in labels:
                return reasons.AFFINITY, False
            near = near and labels[key] in self.wanted.get(key, ())
        if not near and not self.is_first:
            return reasons.AFFINITY, False
        for key, values in self.repelled.items():
            if labels.get(key) in values:
                return reasons.ANTI_AFFINITY, True
        for key, values in self.repelling.items():
            if labels.get(key) in values:
                return reasons.EXISTING_ANTI_AFFINITY, True
        return None


def neighbourhood(pod: PodInfo, accounts: Accounts) -> Neighbourhood | None:
    """None if no pod matters to this one, nor it to them."""
    affinity, labels = pod.affinity, accounts.namespaces.get(pod.namespace, {})
    repelling: Domains = {}
    if accounts.repelling:
        for term, weights in accounts.repelling.about(pod, labels):
            _add_domains(repelling, term.topology_key, weights, accounts)
    if not affinity.attracted and not affinity.repelled and not repelling:
        return None
    repelled: Domains = {}
    for term in affinity.repelled:
        _add_domains(repelled, term.topology_key, _pods_of(term, accounts), accounts)
    wanted: Domains = {}
    if affinity.attracted:
        counts = _pods_of_all(affinity.attracted, accounts)
        for term in affinity.attracted:
            _add_domains(wanted, term.topology_key, counts, accounts)
    return Neighbourhood(
        tuple(term.topology_key for term in affinity.attracted),
        wanted,
        not wanted and all(is_about(term, pod, labels) for term in affinity.attracted),
        repelled,
        repelling,
    )


def scores(pod: PodInfo, accounts: Accounts, nodes: Sequence[NodeAccount]) -> list[int] | None:
    """By what it and the pods that are there prefer. None if nothing of that matters."""
    found: list[tuple[str, int, Mapping[str, int]]] = [
        (term.topology_key, weight, _pods_of(term, accounts))
        for term, weight in pod.affinity.preferred
    ]
    if accounts.attracting:
        labels = accounts.namespaces.get(pod.namespace, {})
        found += [
            (term.topology_key, 1, weights)
            for term, weights in accounts.attracting.about(pod, labels)
        ]
    worth: dict[str, dict[str, int]] = {}
    for key, times, weights in found:
        for name, weight in weights.items():
            node = accounts.nodes.get(name)
            if node is not None and key in node.labels:
                values, value = worth.setdefault(key, {}), node.labels[key]
                values[value] = values.get(value, 0) + times * weight
    if not worth:
        return None
    raw = [
        sum(values.get(node.labels.get(key, ""), 0) for key, values in worth.items())
        for node in nodes
    ]
    least, most = min(raw), max(raw)
    if most == least:
        return [0] * len(raw)
    return [int(MOST * ((each - least) / (most - least))) for each in raw]


def _pods_of(term: Term, accounts: Accounts) -> Counts:
    return accounts.selected.counts(namespaces_of(term, accounts.namespaces), term.pods)


def _pods_of_all(terms: Sequence[Term], accounts: Accounts) -> Counts:
    """The pods that all the terms are about, by node."""
    if len(terms) == 1:
        return _pods_of(terms[0], accounts)
    namespaces = namespaces_of(terms[0], accounts.namespaces)
    for term in terms[1:]:
        namespaces &= namespaces_of(term, accounts.namespaces)
    return accounts.selected.counts(namespaces, Chosen.all_of([term.pods for term in terms]))


def _add_domains(domains: Domains, key: str, counts: Mapping[str, int], accounts: Accounts) -> None:
    for name in counts:
        node = accounts.nodes.get(name)
        if node is not None and key in node.labels:
            domains.setdefault(key, set()).add(node.labels[key])
