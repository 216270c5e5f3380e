"""What a revision changed, in a few words: images first, for that is what people look for."""

from collections.abc import Mapping
from typing import Any

from intact.cli.rbg.restart import RESTARTED_AT

Json = dict[str, Any]


def images(role: Json) -> list[str]:
    """The images of a role in a revision, with those of a LeaderWorkerSet's patches."""
    found: list[str] = []
    for part in ("template", "leader", "worker"):
        spec = (role.get(part) or {}).get("spec") or {}
        for kind in ("initContainers", "containers"):
            found += [one["image"] for one in spec.get(kind) or () if one.get("image")]
    return list(dict.fromkeys(found))


def changed_roles(before: Mapping[str, Json] | None, after: Mapping[str, Json]) -> dict[str, str]:
    """By role, what is new in it. Without a revision before: all roles with their images."""
    if before is None:
        return {name: ", ".join(images(role)) or "no image" for name, role in after.items()}
    found = {
        name: _change(before[name], role) if name in before else "added"
        for name, role in after.items()
        if before.get(name) != role
    }
    return found | {name: "removed" for name in before if name not in after}


def _change(before: Json, after: Json) -> str:
    said = []
    if before.get("workload") != after.get("workload"):
        said.append(f"{before.get('workload')} → {after.get('workload')}")
    if before.get("size", 1) != after.get("size", 1):
        said.append(f"size {before.get('size', 1)} → {after.get('size', 1)}")
    old, new = images(before), images(after)
    if old != new:
        gone = [one for one in old if one not in new] or old
        come = [one for one in new if one not in old] or new
        said.append(f"{', '.join(gone) or 'no image'} → {', '.join(come) or 'no image'}")
    elif not said:
        said.append("restarted" if _bare(before) == _bare(after) else "template")
    return ", ".join(said)


def _bare(role: Json) -> Json:
    """Without the time of a restart."""
    template = dict(role.get("template") or {})
    meta = dict(template.pop("metadata", None) or {})
    annotations = dict(meta.pop("annotations", None) or {})
    annotations.pop(RESTARTED_AT, None)
    meta |= {"annotations": annotations} if annotations else {}
    template |= {"metadata": meta} if meta else {}
    return role | {"template": template}
