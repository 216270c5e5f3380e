"""A status write of another writer to a PodDisruptionBudget that counts groups, with Intact's
numbers in place of its own.

| what it writes | is stored |
|---|---|
| numbers, `disruptedPods`, the conditions of Intact and `DisruptionAllowed` | no |
| conditions of other types | yes |
| labels and annotations, which the API server stores with a status | yes, but not those that Intact writes, nor an end of the scope |
"""  # noqa: E501

from collections.abc import Mapping

import msgspec

from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED
from intact.budget.pdb.group_settings import WRITTEN
from intact.budget.pdb.pods import DISRUPTION_ALLOWED
from intact.budget.pdb.scope import SCOPE_LABEL, counts_pods
from intact.model.admission import NULL, AdmissionRequest
from intact.model.base import View
from intact.model.pdb import PodDisruptionBudget
from intact.operator.webhook.responses import Operations

_OURS = (BUDGET_CONFIGURED, DISRUPTION_ALLOWED)


class _RawMeta(View):
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    managed_fields: msgspec.Raw = NULL


class _RawCondition(View):
    type: str = ""


class _RawStatus(View):
    conditions: list[msgspec.Raw] = msgspec.field(default_factory=list)


class _RawBudget(View):
    metadata: _RawMeta = _RawMeta()
    status: msgspec.Raw = msgspec.Raw(b"{}")


_RAW = msgspec.json.Decoder(_RawBudget)
_STATUS = msgspec.json.Decoder(_RawStatus)
_CONDITION = msgspec.json.Decoder(_RawCondition)
_BUDGET = msgspec.json.Decoder(PodDisruptionBudget)


def undone(request: AdmissionRequest) -> Operations:
    old, new = _RAW.decode(request.old_object), _RAW.decode(request.object)
    before, after = old.metadata, new.metadata
    operations: Operations = [{"op": "add", "path": "/status", "value": old.status}]
    stored, written = _conditions(old), _conditions(new)
    conditions = _merged(stored, written)
    changed = list(conditions.items()) != list(stored.items())
    if changed:
        value = list(conditions.values())
        operations.append({"op": "add", "path": "/status/conditions", "value": value})
    if before.managed_fields != NULL and not changed and _same_metadata(before, after):
        # Otherwise the API server stores that a manager has written, although nothing has changed.
        path = "/metadata/managedFields"
        operations.append({"op": "add", "path": path, "value": before.managed_fields})
    if _leaves(request):
        labels = {SCOPE_LABEL: before.labels.get(SCOPE_LABEL)}
        operations += mapped("labels", after.labels, labels)
    return operations + mapped(
        "annotations", after.annotations, {key: before.annotations.get(key) for key in WRITTEN}
    )


def _conditions(budget: _RawBudget) -> dict[str, msgspec.Raw]:
    found = _STATUS.decode(budget.status).conditions
    return {_CONDITION.decode(each).type: each for each in found}


def _merged(
    stored: Mapping[str, msgspec.Raw], written: Mapping[str, msgspec.Raw]
) -> dict[str, msgspec.Raw]:
    """Intact's as they are stored, all others as they are written; in the stored order."""
    kept = {
        kind: stored[kind] if kind in _OURS else written[kind]
        for kind in stored
        if kind in _OURS or kind in written
    }
    new = {kind: each for kind, each in written.items() if kind not in (*_OURS, *kept)}
    return kept | new


def _same_metadata(old: _RawMeta, new: _RawMeta) -> bool:
    def others(annotations: dict[str, str]) -> dict[str, str]:
        return {key: text for key, text in annotations.items() if key not in WRITTEN}

    return old.labels == new.labels and others(old.annotations) == others(new.annotations)


def _leaves(request: AdmissionRequest) -> bool:
    """Whether the budget would count pods from now on, with the numbers that it has for groups."""
    old, new = _BUDGET.decode(request.old_object), _BUDGET.decode(request.object)
    return not counts_pods(old) and counts_pods(new)


def mapped(field: str, present: Mapping[str, str], wanted: Mapping[str, str | None]) -> Operations:
    """Give these labels or annotations these values; None removes one."""
    operations: Operations = []
    if not present and any(text is not None for text in wanted.values()):
        operations.append({"op": "add", "path": f"/metadata/{field}", "value": {}})
    for key, text in wanted.items():
        path = f"/metadata/{field}/{key.replace('~', '~0').replace('/', '~1')}"
        if text is not None and present.get(key) != text:
            operations.append({"op": "add", "path": path, "value": text})
        elif text is None and key in present:
            operations.append({"op": "remove", "path": path})
    return operations
