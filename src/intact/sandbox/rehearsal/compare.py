"""What would differ with Intact, for a cluster without it.

Budgets that cover only pods of groups would count groups: they get the label for it.
"""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from intact.budget.pdb.group_settings import GroupSettings
from intact.budget.pdb.group_sources import reference_of
from intact.budget.pdb.scope import GROUP_SCOPES, SCOPE_LABEL
from intact.budget.selectors import Selector, check_selector
from intact.model.pdb import PodDisruptionBudget
from intact.model.pod import Pod
from intact.sandbox.api.objects import copied
from intact.sandbox.rehearsal.report import Change, Comparison, Report
from intact.sandbox.snapshot.document import Json, Snapshot

_PDBS = "poddisruptionbudgets.policy"


def compared(plain: Report, snapshot: Snapshot, again: Callable[[Snapshot], Report]) -> Report:
    """The report with a comparison. `again` rehearses the same on another snapshot, with Intact."""
    changed, names = in_groups(snapshot)
    if not names:
        return replace(plain, with_intact=Comparison(plain.goes_through, plain.took, 0, []))
    found = again(changed)
    with_intact = {(each.kind, each.namespace, each.name): each for each in found.budgets}
    changes = [
        Change(f"{each.kind} {each.namespace}/{each.name}", each, with_intact[key])
        for each in plain.budgets
        if (key := (each.kind, each.namespace, each.name)) in with_intact
        and (each.namespace, each.name) in names
    ]
    comparison = Comparison(found.goes_through, found.took, found.breaks, changes)
    return replace(plain, with_intact=comparison)


def in_groups(snapshot: Snapshot) -> tuple[Snapshot, set[tuple[str, str]]]:
    """The snapshot with its budgets over groups labelled, and the names of those."""
    names: set[tuple[str, str]] = set()
    pods = [msgspec.convert(each, Pod) for each in snapshot.of("pods")]
    by_namespace: dict[str, list[Pod]] = {}
    for pod in pods:
        by_namespace.setdefault(pod.metadata.namespace, []).append(pod)
    budgets = []
    for obj in snapshot.of(_PDBS):
        made = copied(obj)
        if _covers_groups(obj, by_namespace):
            meta = made["metadata"]
            meta["labels"] = (meta.get("labels") or {}) | {SCOPE_LABEL: GROUP_SCOPES[0]}
            names.add((meta["namespace"], meta["name"]))
        budgets.append(made)
    return replace(snapshot, objects={**snapshot.objects, _PDBS: budgets}), names


def _covers_groups(obj: Json, pods: dict[str, list[Pod]]) -> bool:
    budget = msgspec.convert(obj, PodDisruptionBudget)
    given = budget.spec.selector
    if given is None or check_selector(given):
        return False
    selector = Selector(given)
    covered = [
        pod
        for pod in pods.get(budget.metadata.namespace, ())
        if selector.selects(pod.metadata.labels)
    ]
    return bool(covered) and all(reference_of(pod, GroupSettings()) for pod in covered)
