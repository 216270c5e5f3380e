"""Labels and annotations of a PodDisruptionBudget that have no effect, one sentence for each.

| on the budget | why it has no effect |
|---|---|
| a setting for groups, without the label that asks for groups | the budget counts pods |
| a setting for groups, or the label, beside the field of KEP-5682 | the API server decides, which does not read them |
| a key that is misspelt, in the wrong place, or for another kind | see `intact.budget.keys` |
"""  # noqa: E501

from intact.budget.keys import ANNOTATION, KEYS, PDB, without_effect
from intact.budget.pdb.group_settings import WRITTEN
from intact.budget.pdb.scope import SCOPE_LABEL, asks_by_field, counts_pods
from intact.model.pdb import PodDisruptionBudget

SETTINGS = tuple(
    key
    for key, use in KEYS.items()
    if PDB in use.kinds and use.place == ANNOTATION and key not in WRITTEN
)
"""Annotations with which people say how a budget counts groups."""


def ineffective(budget: PodDisruptionBudget) -> list[str]:
    meta = budget.metadata
    told = without_effect(PDB, meta.labels, meta.annotations)
    if asks_by_field(budget):
        beside = "has no effect beside spec.budgetScope: the API server itself counts groups"
        told += [f"the annotation {key} {beside}" for key in SETTINGS if key in meta.annotations]
        told += [f"the label {SCOPE_LABEL} {beside}"] if SCOPE_LABEL in meta.labels else []
    elif counts_pods(budget) and SCOPE_LABEL not in meta.labels:
        told += [
            f"the annotation {key} has no effect without the label {SCOPE_LABEL}: the budget "
            "counts pods"
            for key in SETTINGS
            if key in meta.annotations
        ]
    return told
