"""The rules, by family. A code is never used again for another rule.

| codes | family |
|---|---|
| IB0xx | the object itself: what can be read, fields, keys |
| IB1xx | amounts: what the budget can ever allow, and what it ever holds |
| IB2xx | pods: what the budget covers |
| IB3xx | groups |
| IB4xx | several budgets |
| IB5xx | Intact and the cluster |
"""

from intact.picture.findings.finding import Rule, Severity

_ALL: list[Rule] = []


def _rule(code: str, name: str, severity: Severity, summary: str) -> Rule:
    made = Rule(code, name, severity, summary)
    _ALL.append(made)
    return made


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

NOT_PARSED = _rule("IB000", "not-parsed", _E, "A file cannot be read as YAML or JSON")
INVALID = _rule("IB001", "invalid", _E, "A field has a value that is refused or cannot be read")
WITHOUT_EFFECT = _rule(
    "IB002", "key-without-effect", _W, "A label or annotation of Intact has no effect"
)
AMOUNT_IGNORED = _rule(
    "IB003", "amount-ignored", _W, "maxUnavailable and minAvailable are both set, and one wins"
)
UNKNOWN_FIELD = _rule("IB004", "unknown-field", _E, "The API does not know a field")
KEP_FIELD = _rule("IB005", "kep-field", _W, "A stock API server drops spec.budgetScope")
OLD_VERSION = _rule("IB006", "old-version", _E, "No supported server has this version of the API")
TWICE = _rule("IB007", "defined-twice", _N, "Two documents define the same object")

NEVER_ALLOWS = _rule("IB101", "never-allows", _E, "The budget can never let anything go")
ONE_REPLICA = _rule("IB102", "one-replica", _W, "The budget has one unit only")
ALLOWS_ALL = _rule("IB103", "allows-everything", _W, "The budget lets everything go at once")
LARGER_THAN_GROUP = _rule(
    "IB104", "larger-than-group", _W, "maxUnavailable of a budget in groups looks like pods"
)
NOT_COUNTED = _rule(
    "IB105", "total-unknown", _E, "It cannot be known how many pods there should be"
)

NO_PODS = _rule("IB201", "no-pods", _W, "The budget covers no pods")
NO_SELECTOR = _rule("IB202", "no-selector", _E, "A budget without a selector covers nothing")
NO_TARGET = _rule("IB203", "unknown-target", _E, "targetRef names what does not exist")
SCALED_TO_ZERO = _rule("IB204", "scaled-to-zero", _N, "The target wants no pods")
WHOLE_NAMESPACE = _rule(
    "IB205", "whole-namespace", _W, "An empty selector covers every pod of the namespace"
)

PODS_OF_GROUPS = _rule(
    "IB301", "counts-pods-of-groups", _W, "The budget counts pods, and its pods serve in groups"
)
NO_GROUP = _rule("IB302", "pods-without-group", _E, "Pods of a budget in groups are in no group")
NEED_NOT_REACHED = _rule("IB303", "need-out-of-reach", _E, "No group has the pods that it needs")
GROUP_UNDEFINED = _rule(
    "IB304", "group-undefined", _E, "It cannot be known how many pods a group needs"
)
GROUPS_TOO_SMALL = _rule(
    "IB305", "some-groups-too-small", _W, "Some groups have fewer pods than they need"
)
NEED_OF_ONE = _rule(
    "IB306", "need-of-one", _W, "A group counts as available while one of its pods is"
)
AMBIGUOUS_KEY = _rule(
    "IB307", "ambiguous-group-label", _W, "Groups of several workloads have the same label"
)

TWO_PDBS = _rule("IB401", "two-pdbs", _E, "Two PodDisruptionBudgets cover one pod")
OVERLAPPING_PUBS = _rule(
    "IB402", "overlapping-pubs", _E, "Two PodUnavailableBudgets cover the same pods"
)
BOTH_KINDS = _rule("IB403", "both-kinds", _N, "A PodUnavailableBudget and a PDB cover one pod")

NEEDS_INTACT = _rule("IB501", "needs-intact", _E, "The budget needs Intact, which is not installed")
NOT_YET_COUNTED = _rule(
    "IB502", "not-counted", _W, "The budget was not counted for its present spec"
)
NOT_WORKING = _rule("IB503", "not-working", _E, "The budget itself says that it does not work")
TELLS_ONLY = _rule("IB504", "tells-only", _N, "The budget tells of denials and holds nothing")
EXEMPT_NAMESPACE = _rule(
    "IB505", "exempt-namespace", _E, "Intact never holds pods of this namespace"
)

RULES = {rule.code: rule for rule in _ALL}
