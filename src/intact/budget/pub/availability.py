"""Whether a pod is available to its budgets, and whether they hold it at all."""

from intact.model.pod import Pod
from intact.model.pod_state import is_ready, is_terminating

UNAVAILABLE_LABEL_PREFIX = "unavailable-pod.kruise.io/"
# What Go's ParseBool takes for true: users of OpenKruise have written all of these.
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def is_marked_unavailable(pod: Pod) -> bool:
    """Whether a label takes the pod out of service without touching it."""
    return any(key.startswith(UNAVAILABLE_LABEL_PREFIX) for key in pod.metadata.labels)


def is_available(pod: Pod) -> bool:
    """Whether the pod serves, as far as the pod itself says. The ledger may know better."""
    return is_ready(pod) and not is_terminating(pod) and not is_marked_unavailable(pod)


def is_exempt(pod: Pod) -> bool:
    """Whether an annotation exempts the pod: budgets count it as any other, and never hold it."""
    return pod.metadata.annotations.no_protect in _TRUE
