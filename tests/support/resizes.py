"""How the server of this run resizes pods in place.

| Kubernetes | resize |
|---|---|
| 1.30, 1.31 | an update of the pod, behind a feature gate |
| 1.32 | its own subresource, behind the gate |
| 1.33 and newer | its own subresource |

Clusters of tests of resizes open the gate.
"""

from devcluster import pins

_VERSION = pins.as_numbers(pins.chosen_version())
SUBRESOURCE = "resize" if _VERSION >= (1, 32) else ""
OF_PODS = _VERSION >= (1, 36)
"""Whether the resources of a pod as a whole can be resized."""
RESIZES = "pods/resize" if SUBRESOURCE else "pods"
APISERVER_FLAGS = () if _VERSION >= (1, 33) else ("--feature-gates=InPlacePodVerticalScaling=true",)
