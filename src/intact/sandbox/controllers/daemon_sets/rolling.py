"""Which pods of a DaemonSet make way for a new template, and where new ones come beside them.

Nothing here writes. `pods` are by node, on every node that has or is to have one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_ready, is_terminating
from intact.sandbox.controllers.amounts import rounded_up
from intact.sandbox.controllers.daemon_sets.nodes import HASH_LABEL

Pods = dict[str, list[Json]]


@dataclass(slots=True)
class Changes:
    delete: list[Json] = field(default_factory=list)
    create: list[str] = field(default_factory=list)
    """The nodes to have a new pod."""


@dataclass(frozen=True, slots=True)
class Limits:
    surge: int
    unavailable: int


def limits(daemon_set: Json, wanted: int) -> Limits:
    """Of so many nodes that are to have a pod."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if strategy.get("type") == "OnDelete":
        return Limits(0, 0)
    surge = rounded_up(rolling.get("maxSurge", 0), wanted)
    unavailable = rounded_up(rolling.get("maxUnavailable", 1), wanted)
    if wanted and not surge and not unavailable:
        unavailable = 1
    return Limits(surge, unavailable)


def is_new(pod: Json, suffix: str) -> bool:
    return bool((pod["metadata"].get("labels") or {}).get(HASH_LABEL) == suffix)


@dataclass(frozen=True, slots=True)
class _OnNode:
    """The one old and the one new pod of a node that are not on their way out."""

    node: str
    old: Json | None
    new: Json | None
    crowded: bool
    """There are more."""


def _on_nodes(pods: Pods, suffix: str) -> list[_OnNode]:
    found = []
    for node, there in pods.items():
        staying = [pod for pod in there if not is_terminating(pod)]
        new = [pod for pod in staying if is_new(pod, suffix)]
        old = [pod for pod in staying if not is_new(pod, suffix)]
        crowded = len(new) > 1 or len(old) > 1
        found.append(_OnNode(node, old[0] if old else None, new[0] if new else None, crowded))
    return found


def replaced(
    pods: Pods, suffix: str, unavailable: int, is_available: Callable[[Json], bool]
) -> Changes:
    """Old pods go, as many as may be unavailable; those that are unavailable anyway go at once."""
    down = 0
    free: list[Json] = []
    candidates: list[Json] = []
    for here in _on_nodes(pods, suffix):
        if here.crowded or (here.old is None) == (here.new is None):
            down += 1
        elif here.new is not None:
            down += not is_available(here.new)
        elif here.old is not None and not is_available(here.old):
            free.append(here.old)
            down += 1
        elif here.old is not None:
            candidates.append(here.old)
    return Changes(delete=free + candidates[: max(0, unavailable - down)])


def surplus(pods: list[Json], suffix: str, is_available: Callable[[Json], bool]) -> list[Json]:
    """Of the pods of one node, where a new one may be beside an old one while that is ready and the
    new one not available."""
    new = [pod for pod in pods if is_new(pod, suffix)]
    old = [pod for pod in pods if not is_new(pod, suffix)]
    done = bool(new and old) and (is_available(new[0]) or not is_ready(old[0]))
    return new[1:] + old[1:] + (old[:1] if done else [])


def surged(
    pods: Pods,
    suffix: str,
    surge: int,
    is_available: Callable[[Json], bool],
    runs: Callable[[str], bool],
) -> Changes:
    """New pods come beside old ones, which go once the new ones are available."""
    changes = Changes()
    available, surging = 0, 0
    candidates: list[str] = []
    misplaced: list[Json] = []
    for here in _on_nodes(pods, suffix):
        if here.crowded:
            surging += 1
            continue
        shown = here.old or here.new
        available += shown is not None and is_available(shown)
        if here.old is None:
            continue
        if here.new is not None:
            if is_available(here.new):
                changes.delete.append(here.old)
            else:
                surging += 1
        elif not runs(here.node):
            (misplaced if is_available(here.old) else changes.delete).append(here.old)
        elif is_available(here.old):
            candidates.append(here.node)
        else:
            changes.create.append(here.node)
    spare = available - sum(map(runs, pods))
    changes.delete += misplaced[: max(0, spare)]
    changes.create += candidates[: max(0, surge - surging)]
    return changes
