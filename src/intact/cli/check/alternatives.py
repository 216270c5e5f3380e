"""Which files may be applied together.

Files that define the same object are alternatives, such as the overlays of one application: each of
them is checked by itself, together with all files that are in conflict with none.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from intact.cli.check.manifests import Manifest
from intact.picture.findings.finding import About

Json = dict[str, Any]


def alternatives(manifests: Sequence[Manifest], namespace: str = "") -> Iterator[list[Manifest]]:
    """The sets of manifests to check; one, if no two files define the same object."""
    files: dict[About, set[str]] = defaultdict(set)
    for manifest in manifests:
        files[about(named(manifest.value, namespace))].add(manifest.file)
    conflicting = {file for each in files.values() if len(each) > 1 for file in each}
    if not conflicting:
        yield list(manifests)
        return
    for chosen in sorted(conflicting):
        yield [one for one in manifests if one.file == chosen or one.file not in conflicting]


def about(value: Json) -> About:
    meta = value["metadata"]
    return About(value["kind"], meta["namespace"], meta["name"])


def named(value: Json, namespace: str) -> Json:
    """With a name and a namespace."""
    given = value.get("metadata")
    meta = dict(given) if isinstance(given, dict) else {}
    name = meta.get("name") or meta.get("generateName") or ""
    own = meta.get("namespace") or namespace
    return value | {"metadata": meta | {"name": str(name), "namespace": str(own)}}
