"""Whose definition a CustomResourceDefinition is.

Other products define kinds of the same names: OpenKruise the PodUnavailableBudget, sgl-project/rbg
the RoleBasedGroup. A definition that is put over theirs drops their versions and fields, two
controllers would run the same objects, and the garbage collector would delete their workloads with
their definition. So Intact touches only its own: those that it has applied, or that have its label.
"""

from typing import Any

from intact.model.listing import listed
from intact.operator.names import LABELS, OPERATOR

Json = dict[str, Any]

CONTROLLER_OF = {
    "podunavailablebudgets.policy.kruise.io": "pub",
    "rolebasedgroups.workloads.x-k8s.io": "rbg",
    "rolebasedgroupscalingadapters.workloads.x-k8s.io": "rbg",
}
"""The controller that each definition is for, by the definition's name."""
_PRODUCTS = {"pub": "OpenKruise", "rbg": "sgl-project/rbg"}
_MOST = 10


def is_ours(found: Json) -> bool:
    """Whether Intact has installed it: `intact run --install`, or its manifests."""
    meta = found["metadata"]
    if (meta.get("labels") or {}).items() >= LABELS.items():
        return True
    # Intact's first releases did not label their definitions.
    return any(
        each.get("manager") == OPERATOR and each.get("operation") == "Apply"
        for each in meta.get("managedFields") or []
    )


def refusal(found: Json, definition: Json) -> str:
    """Why Intact must not put its definition over the one that is there; empty if it may."""
    name = found["metadata"]["name"]
    ours = [version["name"] for version in definition["spec"]["versions"]]
    there = [version["name"] for version in found["spec"]["versions"]]
    stored = (found.get("status") or {}).get("storedVersions") or []
    about = f"the CRD {name} with {_versions(there)} ({listed(stored, _MOST) or 'nothing'} stored)"
    without = f"run Intact without it (--controllers without {CONTROLLER_OF[name]})"
    if not is_ours(found):
        product = _PRODUCTS[CONTROLLER_OF[name]]
        label = ",".join(f"{key}={value}" for key, value in LABELS.items())
        return (
            f"the cluster has {about}, which Intact did not install ({product}'s?). Intact has "
            f"{_versions(ours)} and leaves the other definition as it is: two products cannot "
            f"share it. Remove that product and its CRD first, or {without}. Only if it is "
            f"Intact's own: kubectl label crd {name} {label}"
        )
    if unknown := sorted({*there, *stored} - {*ours}):
        return (
            f"the cluster has {about}, and this release of Intact does not know "
            f"{listed(unknown, _MOST)}: it would drop what is stored. Run the release that "
            f"installed it, or {without}"
        )
    return ""


def _versions(names: list[str]) -> str:
    return f"version{'s' if len(names) > 1 else ''} {listed(names, _MOST)}"
