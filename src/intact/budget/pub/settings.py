"""What a budget's annotations and their fields in the spec say, read so that a bad value never
protects less. A field wins over its annotation.

`validation` refuses bad values at admission. A budget may still have one, stored before Intact was
installed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from intact.budget.enforcement import Enforcement, enforcement_of
from intact.budget.selectors import Selector, check_selector
from intact.model.amounts import parse_count
from intact.model.pub import PodUnavailableBudget, PubSpec

PROTECT_OPERATIONS = "kruise.io/pub-protect-operations"
PROTECT_TOTAL_REPLICAS = "pub.kruise.io/protect-total-replicas"
UNHEALTHY_POLICY = "intact.dev/unhealthy-policy"
NODE_DEADLINES = "intact.dev/node-deadlines"

KNOWN_OPERATIONS = ("DELETE", "UPDATE", "EVICT", "RESIZE")
DEFAULT_OPERATIONS = frozenset(("DELETE", "UPDATE", "EVICT"))


class UnhealthyPolicy(StrEnum):
    """Whether pods that are not ready, and those of groups that are not available, may go: in words
    of PodDisruptionBudgets."""

    ALWAYS_ALLOW = "AlwaysAllow"
    IF_HEALTHY_BUDGET = "IfHealthyBudget"
    """Only while as many units are available as the budget requires."""


class NodeDeadlines(StrEnum):
    """Whether pods may go for the only reason that their node must be empty by now."""

    RESPECT = "Respect"
    IGNORE = "Ignore"


@dataclass(frozen=True, slots=True)
class PubSettings:
    operations: frozenset[str] = DEFAULT_OPERATIONS
    """What the budget protects its pods from."""
    total: int | None = None
    """Overrides the scale of the workloads; None if the budget does not."""
    enforcement: Enforcement = Enforcement.ENFORCE
    unhealthy: UnhealthyPolicy = UnhealthyPolicy.ALWAYS_ALLOW
    node_deadlines: NodeDeadlines = NodeDeadlines.RESPECT
    ignored: Selector | None = None
    """Pods that the budget counts and never holds; None if it holds all."""

    def ignores(self, labels: Mapping[str, str]) -> bool:
        return self.ignored is not None and self.ignored.selects(labels)


def read_settings(pub: PodUnavailableBudget) -> PubSettings:
    annotations, spec = pub.metadata.annotations, pub.spec
    named = spec.protect_operations or listed_operations(annotations.get(PROTECT_OPERATIONS, ""))
    return PubSettings(
        operations=_protected(named),
        total=_total(spec, annotations.get(PROTECT_TOTAL_REPLICAS, "")),
        enforcement=enforcement_of(annotations),
        unhealthy=_unhealthy(annotations.get(UNHEALTHY_POLICY)),
        node_deadlines=_node_deadlines(annotations.get(NODE_DEADLINES)),
        ignored=_ignored(spec),
    )


def rules_of(settings: PubSettings) -> str:
    """Identifies the settings that a recount depends on; empty for the defaults. The generation of
    a budget does not change with its annotations, so its ledger names them."""
    rules = []
    if settings.operations != DEFAULT_OPERATIONS:
        rules.append("operations=" + ",".join(sorted(settings.operations)))
    if settings.total is not None:
        rules.append(f"total={settings.total}")
    if settings.unhealthy is not UnhealthyPolicy.ALWAYS_ALLOW:
        rules.append(f"unhealthy={settings.unhealthy}")
    return " ".join(rules)


def _total(spec: PubSpec, annotation: str) -> int | None:
    total = spec.protect_total_replicas
    return parse_count(annotation) if total is None or total < 1 else total


def _ignored(spec: PubSpec) -> Selector | None:
    """None also if the selector is empty or cannot be read: then the budget holds all its pods."""
    selector = spec.ignored_pod_selector
    if selector is None or check_selector(selector):
        return None
    return Selector(selector) if selector.match_labels or selector.match_expressions else None


def _protected(operations: Iterable[str]) -> frozenset[str]:
    """DELETE, UPDATE and EVICT unless the budget says otherwise."""
    named = frozenset(operations)
    known = named.intersection(KNOWN_OPERATIONS)
    if not named or known != named:
        return DEFAULT_OPERATIONS | known
    return known


def listed_operations(text: str) -> frozenset[str]:
    """The items of a comma-separated list, known or not."""
    return frozenset(item.strip() for item in text.split(",") if item.strip())


def _unhealthy(text: str | None) -> UnhealthyPolicy:
    if text is None or text == UnhealthyPolicy.ALWAYS_ALLOW:
        return UnhealthyPolicy.ALWAYS_ALLOW
    return UnhealthyPolicy.IF_HEALTHY_BUDGET


def _node_deadlines(text: str | None) -> NodeDeadlines:
    if text is None or text == NodeDeadlines.RESPECT:
        return NodeDeadlines.RESPECT
    return NodeDeadlines.IGNORE
