"""Valid and invalid specs of a PodUnavailableBudget: one table for the CRD and our validation."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

SELECTOR: Json = {"matchLabels": {"app": "web"}}
TARGET: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
LWS_KEY = "leaderworkerset.sigs.k8s.io/group-key"


@dataclass(frozen=True)
class Case:
    name: str
    spec: Json
    field: str = ""
    """The field of the error; empty if there is none."""
    message: str = ""
    """A part of the message, in words that the CRD and our validation share."""
    old: Json | None = None


def expression(key: str, operator: str, *values: str) -> Json:
    found: Json = {"key": key, "operator": operator}
    return found | {"values": list(values)} if values else found


def amount(value: object) -> Json:
    return {"selector": SELECTOR, "maxUnavailable": value}


def selector(*expressions: Json, **labels: str) -> Json:
    found: Json = {"matchExpressions": list(expressions)} if expressions else {}
    return {"selector": found | {"matchLabels": labels}, "maxUnavailable": 1}


def target(**changes: str) -> Json:
    return {"targetRef": TARGET | changes, "maxUnavailable": 1}


def groups(key: object = LWS_KEY, **more: object) -> Json:
    return amount(1) | {"podGroupPolicy": {"groupLabelKey": key, **more}}


def ignored(**found: object) -> Json:
    return amount(1) | {"ignoredPodSelector": found}


AMOUNT = "must be a number from 0 to 2147483647, or a percentage from 0% to 100%"
LABEL = "must be a label key"
CHANGED = "cannot change; make another budget instead"

ACCEPTED = [
    Case("selector and number", amount(1)),
    Case("zero", amount(0)),
    Case("a large number", amount(2**31 - 1)),
    Case("zero percent", amount("0%")),
    Case("ten percent", amount("10%")),
    Case("a hundred percent", amount("100%")),
    Case("targetRef", target()),
    Case("targetRef of the core group", target(apiVersion="v1", kind="ReplicationController")),
    Case("minAvailable", {"selector": SELECTOR, "minAvailable": "50%"}),
    Case("both amounts", amount(1) | {"minAvailable": 2}),
    Case("groups", groups()),
    Case("groups by a plain key", groups("shard")),
    Case("groups with a need", groups(minReadyReplicas=8)),
    Case("groups by the longest key", groups("a" * 253 + "/" + "b" * 63)),
    Case("In", selector(expression("app", "In", "a", "b"))),
    Case("NotIn", selector(expression("app", "NotIn", "a"))),
    Case("Exists", selector(expression("app", "Exists"))),
    Case("DoesNotExist", selector(expression("app", "DoesNotExist"))),
    Case("an empty label value", selector(app="")),
    Case("operations", amount(1) | {"protectOperations": ["DELETE", "UPDATE", "EVICT", "RESIZE"]}),
    Case("an operation twice", amount(1) | {"protectOperations": ["DELETE", "DELETE"]}),
    Case("no operations", amount(1) | {"protectOperations": []}),
    Case("a total", amount(1) | {"protectTotalReplicas": 1}),
    Case("ignored pods", ignored(matchLabels={"track": "canary"})),
    Case("ignored pods by expression", ignored(matchExpressions=[expression("a", "Exists")])),
    Case("another amount", amount("50%"), old=amount(1)),
    Case(
        "other operations and ignored pods",
        ignored(matchLabels={"track": "canary"}) | {"protectOperations": ["EVICT"]},
        old=ignored(matchLabels={"track": "beta"}) | {"protectOperations": ["DELETE"]},
    ),
    Case("the other amount", {"selector": SELECTOR, "minAvailable": 1}, old=amount(1)),
    Case("groups afterwards", groups(), old=amount(1)),
]

REFUSED = [
    Case("neither selector nor targetRef", {"maxUnavailable": 1}, "spec", "neither is"),
    Case("selector and targetRef", amount(1) | {"targetRef": TARGET}, "spec", "both are"),
    Case("no amount", {"selector": SELECTOR}, "spec", "at least one of maxUnavailable and"),
    Case("a negative number", amount(-1), "spec.maxUnavailable", AMOUNT),
    Case("a number beyond 32 bits", amount(2**31), "spec.maxUnavailable", AMOUNT),
    Case("a number beyond 64 bits", amount(2**63), "spec.maxUnavailable"),
    Case("101 percent", amount("101%"), "spec.maxUnavailable", AMOUNT),
    Case("a negative percentage", amount("-1%"), "spec.maxUnavailable", AMOUNT),
    Case("half a percent", amount("0.5%"), "spec.maxUnavailable", AMOUNT),
    Case("a number in quotes", amount("1"), "spec.maxUnavailable", AMOUNT),
    Case("a word", amount("all"), "spec.maxUnavailable", AMOUNT),
    Case("an empty amount", amount(""), "spec.maxUnavailable", AMOUNT),
    Case("a percentage and a new line", amount("10%\n"), "spec.maxUnavailable", AMOUNT),
    Case("a fraction", amount(1.5), "spec.maxUnavailable"),
    Case("a truth value", amount(True), "spec.maxUnavailable"),
    Case(
        "a bad minAvailable",
        {"selector": SELECTOR, "minAvailable": "200%"},
        "spec.minAvailable",
        AMOUNT,
    ),
    Case("no workload name", target(name=""), "spec.targetRef.name", "must not be empty"),
    Case("no workload kind", target(kind=""), "spec.targetRef.kind", "must not be empty"),
    Case("no version", target(apiVersion=""), "spec.targetRef.apiVersion", "must not be empty"),
    Case(
        "a version that is none",
        target(apiVersion="apps/v1/deployments"),
        "spec.targetRef.apiVersion",
        "must be GROUP/VERSION or VERSION",
    ),
    Case(
        "a targetRef without a name",
        {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment"}, "maxUnavailable": 1},
        "spec.targetRef.name",
    ),
    Case("an empty selector", {"selector": {}, "maxUnavailable": 1}, "spec.selector", "every pod"),
    Case("an empty matchLabels", selector(), "spec.selector", "every pod"),
    Case(
        "an empty matchExpressions",
        {"selector": {"matchExpressions": []}, "maxUnavailable": 1},
        "spec.selector",
        "every pod",
    ),
    Case(
        "an unknown operator",
        selector(expression("app", "Gt", "1")),
        "spec.selector.matchExpressions[0].operator",
    ),
    Case(
        "In without values",
        selector(expression("app", "In")),
        "spec.selector.matchExpressions[0].values",
        "In needs at least one value",
    ),
    Case(
        "Exists with values",
        selector(expression("app", "Exists", "a")),
        "spec.selector.matchExpressions[0].values",
        "Exists takes no values",
    ),
    Case("a label key with a space", selector(**{"app name": "x"}), "spec.selector.matchLabels"),
    Case("a label value with a space", selector(app="a b"), "spec.selector.matchLabels"),
    Case("a label value that is too long", selector(app="a" * 64), "spec.selector.matchLabels"),
    Case(
        "an expression on no label key",
        selector(expression("app name", "Exists")),
        "spec.selector.matchExpressions[0].key",
        LABEL,
    ),
    Case("no group key", groups(""), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case("a group key with a space", groups("a b"), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case("two slashes", groups("a/b/c"), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case("an empty prefix", groups("/b"), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case("an upper-case prefix", groups("A.io/b"), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case("a long name", groups("b" * 64), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case("a long prefix", groups("a" * 254 + "/b"), "spec.podGroupPolicy.groupLabelKey", LABEL),
    Case(
        "no ready pods needed",
        groups(minReadyReplicas=0),
        "spec.podGroupPolicy.minReadyReplicas",
    ),
    Case(
        "an unknown operation",
        amount(1) | {"protectOperations": ["DELETE", "EVICTION"]},
        "spec.protectOperations[1]",
    ),
    Case("no total", amount(1) | {"protectTotalReplicas": 0}, "spec.protectTotalReplicas"),
    Case("all pods ignored", ignored(), "spec.ignoredPodSelector", "must not be empty"),
    Case(
        "ignored pods by no operator",
        ignored(matchExpressions=[expression("a", "Gt", "1")]),
        "spec.ignoredPodSelector.matchExpressions[0].operator",
    ),
    Case(
        "ignored pods by In without values",
        ignored(matchExpressions=[expression("a", "In")]),
        "spec.ignoredPodSelector.matchExpressions[0].values",
        "In needs at least one value",
    ),
    Case(
        "ignored pods by no label key",
        ignored(matchLabels={"a b": "c"}),
        "spec.ignoredPodSelector.matchLabels",
    ),
    Case("another selector", selector(app="db"), "spec.selector", CHANGED, old=amount(1)),
    Case("another workload", target(name="db"), "spec.targetRef", CHANGED, old=target()),
    Case(
        "another version of a workload",
        target(apiVersion="apps/v2"),
        "spec.targetRef",
        CHANGED,
        old=target(),
    ),
    Case("from selector to targetRef", target(), "spec.targetRef", CHANGED, old=amount(1)),
    Case("from targetRef to selector", amount(1), "spec.selector", CHANGED, old=target()),
]


def budget(spec: Json, name: str = "budget", **metadata: Any) -> Json:
    return {
        "apiVersion": "policy.kruise.io/v1alpha1",
        "kind": "PodUnavailableBudget",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }
