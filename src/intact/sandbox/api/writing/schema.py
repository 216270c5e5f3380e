"""How the lists and maps of built-in kinds merge in server-side apply, by the name of the field.

kube-apiserver reads this from its Go types and OpenAPI schema. The names in use here mean the same
wherever they stand, but for `ports`, which differ between containers and services. The lists of
custom resources are replaced as a whole.
"""

from intact.kube.strategic import PATCH_KEYS

APPLY_KEYS: dict[str, tuple[str, ...]] = {
    **{name: (key,) for name, key in PATCH_KEYS.items()},
    "ports": ("containerPort", "protocol"),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
"""The keys of associative lists in server-side apply."""

ATOMIC_LISTS = frozenset({"taints", "readinessGates"})
"""Lists with a patch merge key that server-side apply nevertheless takes as a whole."""

ATOMIC_MAPS = frozenset(
    {
        "selector",
        "nodeSelector",
        "labelSelector",
        "objectSelector",
        "namespaceSelector",
        "fieldRef",
        "resourceFieldRef",
        "secretKeyRef",
        "configMapKeyRef",
        "involvedObject",
        "claimRef",
    }
)

GRANULAR_MAPS = frozenset(
    {
        "annotations",
        "binaryData",
        "data",
        "disruptedPods",
        "labels",
        "limits",
        "matchLabels",
        "requests",
        "stringData",
    }
)
"""Maps from free keys, as opposed to structs: ownership of the map itself is recorded as well."""

KEY_DEFAULTS: dict[str, str] = {"protocol": "TCP"}


def apply_keys(name: str, items: list[object]) -> tuple[str, ...] | None:
    """The keys that name an item of an associative list, if the list is one."""
    if name in ATOMIC_LISTS:
        return None
    if name == "ports":
        first = next((item for item in items if isinstance(item, dict)), {})
        return ("containerPort" if "containerPort" in first else "port", "protocol")
    return APPLY_KEYS.get(name)
