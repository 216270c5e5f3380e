"""Which nodes a pod wants: its node selector and node affinity."""

from collections.abc import Mapping

from intact.sandbox.api.objects import Json


def matches(spec: Json, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the node suits the pod's node selector and required affinity."""
    for key, value in (spec.get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return False
    required = _node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term(term, name, labels) for term in required.get("nodeSelectorTerms") or ())


def named_nodes(spec: Json) -> frozenset[str] | None:
    """The only nodes that the required affinity names, as that of DaemonSet pods does. None if it
    does not name any."""
    required = _node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    found: frozenset[str] | None = None
    for term in required.get("nodeSelectorTerms") or ():
        names: frozenset[str] | None = None
        for each in term.get("matchFields") or ():
            if each["key"] == "metadata.name" and each["operator"] == "In":
                values = frozenset(each["values"])
                names = values if names is None else names & values
        if names is None:
            return None
        found = names if found is None else found | names
    return found


def preference(spec: Json, name: str, labels: Mapping[str, str]) -> int:
    """The weights of the preferred terms that the node suits, summed up."""
    preferred = _node_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution")
    return sum(
        each["weight"] for each in preferred or () if _term(each["preference"], name, labels)
    )


def has_preferences(spec: Json) -> bool:
    return bool(_node_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution"))


def _node_affinity(spec: Json) -> Json:
    found: Json = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return found


def _term(term: Json, name: str, labels: Mapping[str, str]) -> bool:
    """A term without any requirement matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_requirement(each, labels) for each in expressions) and all(
        _requirement(each, {"metadata.name": name}) for each in fields
    )


def _requirement(requirement: Json, labels: Mapping[str, str]) -> bool:
    value, wanted = labels.get(requirement["key"]), requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return value is not None and _compares(operator, value, wanted[0])
    return False


def _compares(operator: str, value: str, limit: str) -> bool:
    try:
        return int(value) > int(limit) if operator == "Gt" else int(value) < int(limit)
    except ValueError:
        return False
