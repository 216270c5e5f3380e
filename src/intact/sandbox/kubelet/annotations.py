"""The annotations with which a manifest says how its pods behave, here as on kwok's nodes."""

import re

from intact.sandbox.api.objects import Json

_PREFIX = "devcluster.intact.dev"
UNREADY = f"{_PREFIX}/unready"
"""`true`: the pod runs and is not ready."""
FAIL = f"{_PREFIX}/fail"
"""`true`: the pod fails."""
TERMINATION_DELAY = f"{_PREFIX}/termination-delay"
"""How long the pod takes to end."""
COMPLETE_AFTER = f"{_PREFIX}/complete-after"
"""How long after it became ready the pod succeeds."""
MANAGED_NODE = ("kwok.x-k8s.io/node", "fake")
"""The annotation of nodes that have a kubelet."""

_DURATION = re.compile(r"([0-9.]+)(ms|s|m|h)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def is_set(pod: Json, name: str) -> bool:
    return bool((pod["metadata"].get("annotations") or {}).get(name) == "true")


def seconds(pod: Json, name: str) -> float | None:
    """The duration that an annotation states; None without one, or if it cannot be read."""
    found = _DURATION.fullmatch((pod["metadata"].get("annotations") or {}).get(name, ""))
    return float(found[1]) * _UNITS[found[2]] if found is not None else None
