"""CustomResourceDefinitions: the kinds that they declare are served while they are there."""

from intact.sandbox.api.kinds import Kind, Scale
from intact.sandbox.api.objects import Json
from intact.sandbox.api.structural import Schema

FULL_NAME = "customresourcedefinitions.apiextensions.k8s.io"


def kind_of(definition: Json) -> Kind:
    """The kind that a definition declares."""
    spec = definition["spec"]
    names = spec["names"]
    stored = next(version for version in spec["versions"] if version["storage"])
    others = [each["name"] for each in spec["versions"] if each["served"] and each is not stored]
    subresources = stored.get("subresources") or {}
    schema = Schema((stored.get("schema") or {}).get("openAPIV3Schema") or {})
    return Kind(
        spec["group"],
        stored["name"],
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        more_versions=tuple(others),
        status="status" in subresources,
        scale=_scale(subresources.get("scale")),
        default=schema.complete,
        errors=schema.errors,
        short_names=tuple(names.get("shortNames") or ()),
    )


def _scale(subresource: Json | None) -> Scale | None:
    if subresource is None:
        return None
    return Scale(
        subresource["specReplicasPath"].strip("."),
        subresource["statusReplicasPath"].strip("."),
        subresource.get("labelSelectorPath", "").strip("."),
    )


def default_definition(definition: Json) -> None:
    """The names that may be left out, and the status, which the server writes as soon as a
    definition is stored."""
    spec = definition.get("spec") or {}
    names = spec.get("names") or {}
    kind = names.get("kind")
    if not kind:
        return
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    since = (definition.get("metadata") or {}).get("creationTimestamp")
    if not since:
        return
    versions = [each["name"] for each in spec.get("versions") or () if each.get("storage")]
    definition["status"] = {
        "acceptedNames": dict(names),
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", since),
            _condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted",
                since,
            ),
        ],
        "storedVersions": versions,
    }


def _condition(name: str, reason: str, message: str, since: str) -> Json:
    return {
        "type": name,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }
