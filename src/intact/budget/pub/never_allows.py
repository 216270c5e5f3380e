"""Whether a budget can ever let a unit go: one that cannot blocks every drain for good."""

from intact.budget.pub.recount import desired_of
from intact.model.pub import PubSpec


def never_allows(spec: PubSpec, total: int | None) -> str:
    """Why no unit can go even while all are available; empty if one can. `total` is how many units
    there should be; None if that is not known: then only the amounts themselves tell."""
    unit = "group" if spec.pod_group_policy else "pod"
    end = f"no {unit} can ever go; change the amount, or scale up"
    if spec.max_unavailable in (0, "0%"):
        return f"maxUnavailable is {spec.max_unavailable}: {end}"
    counts = spec.max_unavailable is None or spec.pod_group_policy is not None
    if counts and spec.min_available == "100%":
        return f"minAvailable is 100%: {end}"
    if not total or desired_of(spec, total) < total:
        return ""
    are = "are" if total > 1 else "is"
    desired = desired_of(spec, total)
    return f"minAvailable requires {desired} {unit}s and there {are} {total}: {end}"
