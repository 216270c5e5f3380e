"""What `intact why` is asked about: TYPE/NAME or TYPE NAME, with the names that kubectl takes."""

from enum import StrEnum
from typing import Any, NamedTuple

import click

from intact.kube.resources import PDBS, PODS, PUBS, RBGS, Resource

_NODES = ("node", "nodes", "no")
_GROUPS = ("group", "groups")


class Type(StrEnum):
    POD = "pod"
    NODE = "node"
    PUB = "pub"
    PDB = "pdb"
    RBG = "rbg"
    GROUP = "group"


class Asked(NamedTuple):
    type: Type
    name: str


def asked(words: tuple[str, ...]) -> Asked:
    """Raises `click.UsageError`."""
    match words:
        case (both,) if both.count("/") == 1:
            kind, _, name = both.partition("/")
        case (kind, name) if "/" not in kind:
            pass
        case _:
            raise click.UsageError("name one thing: TYPE/NAME, such as pod/web-0 or node/node-2")
    found = _TYPES.get(kind.lower())
    if found is None:
        known = ", ".join(Type)
        raise click.UsageError(f"{kind!r} is none of the types that why knows: {known}")
    if not name:
        raise click.UsageError(f"the name of the {found} is missing: {found}/NAME")
    return Asked(found, name)


def _names(resource: Resource[Any], short: str) -> list[str]:
    kind = resource.kind.lower()
    full = [f"{name}.{resource.group}" for name in (kind, resource.plural) if resource.group]
    versions = [
        f"{name}.{resource.version}.{resource.group}"
        for name in (kind, resource.plural)
        if resource.group
    ]
    return [short, f"{short}s", kind, resource.plural, *full, *versions]


_TYPES: dict[str, Type] = {
    **dict.fromkeys((*_names(PODS, "po"), "pod"), Type.POD),
    **dict.fromkeys(_NODES, Type.NODE),
    **dict.fromkeys(_names(PUBS, "pub"), Type.PUB),
    **dict.fromkeys(_names(PDBS, "pdb"), Type.PDB),
    **dict.fromkeys(_names(RBGS, "rbg"), Type.RBG),
    **dict.fromkeys(_GROUPS, Type.GROUP),
}
