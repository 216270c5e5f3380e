"""From a pod to the group that a label names, for budgets that count groups by a label.

Two RoleBasedGroups number their batches alike. So the group of a batch label is the RoleBasedGroup
and the number: batch 0 of one is not batch 0 of the other, although a budget selects both. And a
batch serves only whole: the pod says how many pods its batch has.
"""

from intact.model.amounts import parse_count
from intact.model.labels import BATCH, ROLE_BASED_GROUP
from intact.model.pod import Pod


def is_batch_key(key: str) -> bool:
    return key.startswith(BATCH)


def group_of(pod: Pod, key: str) -> str | None:
    """None if the pod does not have the label."""
    labels = pod.metadata.labels
    value = labels.get(key)
    if value is None or not is_batch_key(key) or ROLE_BASED_GROUP not in labels:
        return value
    return f"{labels[ROLE_BASED_GROUP]}/{value}"


def stated_need(pod: Pod, key: str) -> int | None:
    """How many pods the group of this label needs, as far as the pod itself says; None if only the
    budget can say."""
    if not is_batch_key(key):
        return None
    return parse_count(pod.metadata.annotations.batch_size) or None
