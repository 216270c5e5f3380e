"""Discovery: what the server says about itself and the kinds that it serves."""

from intact.sandbox.api.kinds import Kind, Registry
from intact.sandbox.api.objects import Json

VERSION: Json = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "platform": "linux/amd64",
}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_SUBRESOURCES: dict[str, tuple[list[str], Json]] = {
    "status": (["get", "patch", "update"], {}),
    "resize": (["get", "patch", "update"], {}),
    "scale": (
        ["get", "patch", "update"],
        {"group": "autoscaling", "version": "v1", "kind": "Scale"},
    ),
    "binding": (["create"], {"kind": "Binding"}),
    "eviction": (["create"], {"group": "policy", "version": "v1", "kind": "Eviction"}),
}


def discover(path: str, registry: Registry) -> Json | None:
    """The answer to a discovery path, None if it is not one."""
    match path.strip("/").split("/"):
        case ["version"]:
            return VERSION
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["apis"]:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(registry)}
        case ["api", version]:
            return _resources(registry, "", version)
        case ["apis", group]:
            return next(
                (
                    {"kind": "APIGroup", "apiVersion": "v1", **found}
                    for found in _groups(registry)
                    if found["name"] == group
                ),
                None,
            )
        case ["apis", group, version]:
            return _resources(registry, group, version)
    return None


def _groups(registry: Registry) -> list[Json]:
    versions: dict[str, dict[str, None]] = {}
    for kind in registry:
        if kind.group:
            versions.setdefault(kind.group, {}).update(dict.fromkeys(kind.versions))
    return [
        {
            "name": group,
            "versions": [_group_version(group, version) for version in found],
            "preferredVersion": _group_version(group, next(iter(found))),
        }
        for group, found in sorted(versions.items())
    ]


def _group_version(group: str, version: str) -> Json:
    return {"groupVersion": f"{group}/{version}", "version": version}


def _resources(registry: Registry, group: str, version: str) -> Json | None:
    kinds = [kind for kind in registry if kind.group == group and version in kind.versions]
    if not kinds:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [
            resource
            for kind in sorted(kinds, key=lambda each: each.plural)
            for resource in _resources_of(kind)
        ],
    }


def _resources_of(kind: Kind) -> list[Json]:
    main: Json = {
        "name": kind.plural,
        "singularName": kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _VERBS,
    }
    if kind.short_names:
        main["shortNames"] = list(kind.short_names)
    found = [main]
    for subresource in kind.subresources:
        verbs, other_kind = _SUBRESOURCES[subresource]
        found.append(
            {
                "name": f"{kind.plural}/{subresource}",
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": kind.kind,
                **other_kind,
                "verbs": verbs,
            }
        )
    return found
