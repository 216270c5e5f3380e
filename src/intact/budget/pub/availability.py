"""What budgets ask of a pod."""

from intact.model.pod import Pod
from intact.model.pod_state import is_ready, is_terminating

UNAVAILABLE_LABEL_PREFIX = "unavailable-pod.kruise.io/"
# What Go's ParseBool takes for true: OpenKruise's users have written all of these.
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def is_marked_unavailable(pod: Pod) -> bool:
    """By a label that takes the pod out of service without touching it."""
    return any(key.startswith(UNAVAILABLE_LABEL_PREFIX) for key in pod.metadata.labels)


def is_available(pod: Pod) -> bool:
    """Serving, as far as the pod itself says. The ledger may know better."""
    return is_ready(pod) and not is_terminating(pod) and not is_marked_unavailable(pod)


def is_exempt(pod: Pod) -> bool:
    """By its annotation: counted as any other, and never held back."""
    return pod.metadata.annotations.no_protect in _TRUE
