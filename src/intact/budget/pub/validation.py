"""Whether a budget may be stored.

The rules for the spec are those of the CRD, for callers without an API server; one table of cases
tests both. The other rules need more than the spec: the annotations, and the other budgets of the
namespace.

An update is not refused for what was wrong before it: a bad budget that is stored must stay
editable.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from intact.budget.enforcement import ENFORCEMENT, Enforcement
from intact.budget.keys import PUB, without_effect
from intact.budget.pub.never_allows import never_allows
from intact.budget.pub.settings import (
    KNOWN_OPERATIONS,
    NODE_DEADLINES,
    PROTECT_OPERATIONS,
    PROTECT_TOTAL_REPLICAS,
    UNHEALTHY_POLICY,
    NodeDeadlines,
    UnhealthyPolicy,
    listed_operations,
    read_settings,
)
from intact.budget.selectors import Selector, check_selector
from intact.model.amounts import MOST_REPLICAS, check_amount, parse_count
from intact.model.field_error import FieldError
from intact.model.labels import is_label_key, is_label_value
from intact.model.meta import LabelSelector
from intact.model.pub import PodUnavailableBudget, PubSpec, TargetReference


@dataclass(slots=True)
class Verdict:
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def validate(
    pub: PodUnavailableBudget,
    others: Iterable[PodUnavailableBudget],
    old: PodUnavailableBudget | None = None,
    total: int | None = None,
) -> Verdict:
    """`others` are the budgets of the same namespace; the budget itself may be among them. `total`
    is how many units it will have, if that is known."""
    errors = _errors(pub)
    verdict = Verdict(errors, [] if errors else _warnings(pub, total))
    overlap = _overlap(pub, others)
    if old is None:
        verdict.errors += overlap
        return verdict
    known = _errors(old)
    verdict.errors = [error for error in verdict.errors if error not in known]
    verdict.errors += _changed(pub.spec, old.spec)
    # What a budget covers cannot change, so its update makes no new overlap.
    verdict.warnings += [str(error) for error in overlap]
    return verdict


def _errors(pub: PodUnavailableBudget) -> list[FieldError]:
    spec = pub.spec
    if pub.problems:
        read = (problem.partition(": ") for problem in pub.problems)
        return [FieldError(path, None, message) for path, _, message in read]
    return [
        *_covered(spec),
        *_amounts(spec),
        *_groups(spec),
        *_protection(spec),
        *_annotations(pub.metadata.annotations, spec),
    ]


def _covered(spec: PubSpec) -> list[FieldError]:
    if (spec.selector is None) == (spec.target_ref is None):
        given = "neither is" if spec.selector is None else "both are"
        message = f"exactly one of selector and targetRef must be set; {given}"
        return [FieldError("spec", None, message)]
    if spec.target_ref is not None:
        return _target(spec.target_ref)
    assert spec.selector is not None
    return _selector("spec.selector", spec.selector)


_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+")


def _target(target: TargetReference) -> list[FieldError]:
    path = "spec.targetRef"
    fields = {"apiVersion": target.api_version, "kind": target.kind, "name": target.name}
    found = [
        FieldError(f"{path}.{name}", value, "must not be empty")
        for name, value in fields.items()
        if not value
    ]
    if target.api_version and not _API_VERSION.fullmatch(target.api_version):
        message = "must be GROUP/VERSION or VERSION, such as apps/v1"
        found.append(FieldError(f"{path}.apiVersion", target.api_version, message))
    return found


_NO_LABEL_KEY = "must be a label key, such as app or example.com/shard"


def _selector(path: str, selector: LabelSelector) -> list[FieldError]:
    if not selector.match_labels and not selector.match_expressions:
        return [FieldError(path, None, "must not be empty: it would select every pod")]
    found = [FieldError(f"{path}.{at}", None, message) for at, message in check_selector(selector)]
    keys = [("matchLabels", key) for key in selector.match_labels]
    values = [("matchLabels", value) for value in selector.match_labels.values()]
    for index, expression in enumerate(selector.match_expressions):
        keys.append((f"matchExpressions[{index}].key", expression.key))
        values += [(f"matchExpressions[{index}].values", value) for value in expression.values]
    found += [
        FieldError(f"{path}.{at}", key, _NO_LABEL_KEY) for at, key in keys if not is_label_key(key)
    ]
    found += [
        FieldError(f"{path}.{at}", value, "must be a label value, such as web")
        for at, value in values
        if not is_label_value(value)
    ]
    return found


_NO_AMOUNT = f"must be a number from 0 to {MOST_REPLICAS}, or a percentage from 0% to 100%"


def _amounts(spec: PubSpec) -> list[FieldError]:
    amounts = {"maxUnavailable": spec.max_unavailable, "minAvailable": spec.min_available}
    if all(amount is None for amount in amounts.values()):
        message = "at least one of maxUnavailable and minAvailable must be set"
        return [FieldError("spec", None, message)]
    return [
        FieldError(f"spec.{name}", amount, _NO_AMOUNT)
        for name, amount in amounts.items()
        if amount is not None and check_amount(amount)
    ]


def _groups(spec: PubSpec) -> list[FieldError]:
    policy = spec.pod_group_policy
    if policy is None:
        return []
    found = []
    if not is_label_key(policy.group_label_key):
        found.append(
            FieldError("spec.podGroupPolicy.groupLabelKey", policy.group_label_key, _NO_LABEL_KEY)
        )
    need = policy.min_ready_replicas
    if need is not None and not 1 <= need <= MOST_REPLICAS:
        message = f"must be at least 1 and at most {MOST_REPLICAS}"
        found.append(FieldError("spec.podGroupPolicy.minReadyReplicas", need, message))
    return found


def _protection(spec: PubSpec) -> list[FieldError]:
    found = [
        FieldError(f"spec.protectOperations[{index}]", operation, _NO_OPERATION)
        for index, operation in enumerate(spec.protect_operations)
        if operation not in KNOWN_OPERATIONS
    ]
    total = spec.protect_total_replicas
    if total is not None and not 1 <= total <= MOST_REPLICAS:
        message = f"must be from 1 to {MOST_REPLICAS}"
        found.append(FieldError("spec.protectTotalReplicas", total, message))
    if spec.ignored_pod_selector is not None:
        found += _selector("spec.ignoredPodSelector", spec.ignored_pod_selector)
    return found


_NO_OPERATION = f"must be one of {', '.join(KNOWN_OPERATIONS)}"


def _annotations(annotations: dict[str, str], spec: PubSpec) -> list[FieldError]:
    found = []
    operations = annotations.get(PROTECT_OPERATIONS, "")
    for operation in sorted(listed_operations(operations).difference(KNOWN_OPERATIONS)):
        message = f"{operation!r} is not one of {', '.join(KNOWN_OPERATIONS)}"
        found.append(_annotation_error(PROTECT_OPERATIONS, operations, message))
    total = annotations.get(PROTECT_TOTAL_REPLICAS)
    if total is not None and parse_count(total) is None:
        message = f"{total!r} is not an integer from 0 to {MOST_REPLICAS}"
        found.append(_annotation_error(PROTECT_TOTAL_REPLICAS, total, message))
    elif total is not None and spec.protect_total_replicas not in (None, parse_count(total)):
        message = f"spec.protectTotalReplicas is {spec.protect_total_replicas}; both must agree"
        found.append(_annotation_error(PROTECT_TOTAL_REPLICAS, total, message))
    words: tuple[tuple[str, type[StrEnum]], ...] = (
        (ENFORCEMENT, Enforcement),
        (UNHEALTHY_POLICY, UnhealthyPolicy),
        (NODE_DEADLINES, NodeDeadlines),
    )
    for key, known in words:
        text = annotations.get(key)
        if text is not None and text not in list(known):
            message = f"{text!r} is not one of {', '.join(known)}"
            found.append(_annotation_error(key, text, message))
    return found


def _annotation_error(key: str, value: str, message: str) -> FieldError:
    return FieldError(f"metadata.annotations[{key}]", value, message)


def _changed(new: PubSpec, old: PubSpec) -> list[FieldError]:
    fields = {
        "selector": (new.selector, old.selector),
        "targetRef": (new.target_ref, old.target_ref),
    }
    return [
        FieldError(f"spec.{name}", None, f"{name} cannot change; make another budget instead")
        for name, (after, before) in fields.items()
        if after != before
    ]


_BOTH_AMOUNTS = (
    "maxUnavailable and minAvailable are both set: maxUnavailable wins, and minAvailable has no "
    "effect (with podGroupPolicy both would hold)"
)


def _warnings(pub: PodUnavailableBudget, total: int | None) -> list[str]:
    spec, meta = pub.spec, pub.metadata
    both = spec.max_unavailable is not None and spec.min_available is not None
    found = [_BOTH_AMOUNTS] if both and spec.pod_group_policy is None else []
    own = read_settings(pub).total
    if why := never_allows(spec, total if own is None else own):
        found.append(why)
    return found + without_effect(PUB, meta.labels, meta.annotations)


def _overlap(pub: PodUnavailableBudget, others: Iterable[PodUnavailableBudget]) -> list[FieldError]:
    """Compares selectors with selectors and targets with targets: which pods a target will have is
    not known."""
    selector = _usable_selector(pub.spec)
    workload = _workload(pub.spec)
    found = []
    for other in others:
        name = other.metadata.name
        # A budget that is being deleted makes way.
        if name == pub.metadata.name or other.metadata.deletion_timestamp is not None:
            continue
        theirs = _usable_selector(other.spec)
        if workload is not None and workload == _workload(other.spec):
            message = f"the budget {name} has the same targetRef"
            found.append(FieldError("spec.targetRef", None, message))
        elif selector is not None and theirs is not None and selector.overlaps(theirs):
            message = f"it overlaps with the selector of the budget {name}"
            found.append(FieldError("spec.selector", None, message))
    return found


def _usable_selector(spec: PubSpec) -> Selector | None:
    if spec.selector is None or spec.target_ref is not None or check_selector(spec.selector):
        return None
    return Selector(spec.selector)


def _workload(spec: PubSpec) -> tuple[str, str, str] | None:
    """Group, kind and name. The version says how to read the workload, not which one it is."""
    if spec.target_ref is None:
        return None
    group, slash, _ = spec.target_ref.api_version.rpartition("/")
    return group if slash else "", spec.target_ref.kind, spec.target_ref.name
