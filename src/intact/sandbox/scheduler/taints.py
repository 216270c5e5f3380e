"""Taints of nodes, and tolerations of pods."""

from collections.abc import Sequence

from intact.sandbox.api.objects import Json

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
BLOCKING = ("NoSchedule", "NoExecute")


def tolerates(toleration: Json, taint: Json) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return False  # Gt and Lt are alpha: a server ignores them by default


def is_tolerated(taint: Json, tolerations: Sequence[Json]) -> bool:
    return any(tolerates(each, taint) for each in tolerations)


def untolerated(
    taints: Sequence[Json], tolerations: Sequence[Json], effects: Sequence[str]
) -> list[Json]:
    """The taints with one of the effects that the pod does not tolerate."""
    return [
        taint
        for taint in taints
        if taint.get("effect") in effects and not is_tolerated(taint, tolerations)
    ]


def tolerates_cordon(tolerations: Sequence[Json]) -> bool:
    """DaemonSet pods tolerate this taint, and so run on cordoned nodes as well."""
    return is_tolerated({"key": UNSCHEDULABLE, "effect": "NoSchedule"}, tolerations)
