"""Labels and annotations of a PodDisruptionBudget that have no effect, one sentence for each.

| on the budget | why it has no effect |
|---|---|
| a setting for groups, without the label that asks for groups | the budget counts pods |
| a key that is misspelt, in the wrong place, or for another kind | see `intact.budget.keys` |
"""

from intact.budget.keys import ANNOTATION, KEYS, PDB, without_effect
from intact.budget.pdb.group_settings import WRITTEN
from intact.budget.pdb.scope import SCOPE_LABEL, counts_pods
from intact.model.pdb import PodDisruptionBudget

_SETTINGS = tuple(
    key
    for key, use in KEYS.items()
    if PDB in use.kinds and use.place == ANNOTATION and key not in WRITTEN
)


def ineffective(budget: PodDisruptionBudget) -> list[str]:
    meta = budget.metadata
    told = without_effect(PDB, meta.labels, meta.annotations)
    if counts_pods(budget) and SCOPE_LABEL not in meta.labels:
        told += [
            f"the annotation {key} has no effect without the label {SCOPE_LABEL}: the budget "
            "counts pods"
            for key in _SETTINGS
            if key in meta.annotations
        ]
    return told
