"""Units that are down, in one line each, and as documents for programs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from intact.cli.durations import age
from intact.cli.output import counted
from intact.model.pod import DetailedPod
from intact.model.times import parse_time
from intact.picture.causes import PodCause, Waited, waited
from intact.picture.units import State, UnitPicture

Json = dict[str, Any]
_MOST_UNITS = 5
_MOST_CAUSES = 3


def for_how_long(since: str, now: datetime) -> str:
    """`4m12s`; empty if it is not known."""
    try:
        return age((now - parse_time(since)).total_seconds())
    except ValueError:
        return ""


def unit_lines(waits_for: Iterable[Waited], now: datetime, indent: str) -> list[str]:
    """The units that a budget waits for, those that are down for longest first."""
    found = list(waits_for)
    lines = [indent + unit_line(one, now) for one in found[:_MOST_UNITS]]
    if (more := len(found) - _MOST_UNITS) > 0:
        lines.append(f"{indent}and {more} more")
    return lines


def unit_line(found: Waited, now: datetime) -> str:
    unit = found.unit
    since = for_how_long(unit.since, now)
    lasting = f" for {since}" if since else ""
    if unit.state is State.UNKNOWN:
        return f"{unit.name} is unknown: nothing says how many pods it needs"
    if unit.state is State.ABSENT:
        return f"{unit.name} has no pods{lasting}"
    causes = [cause_text(one, now, name=unit.is_group) for one in found.causes[:_MOST_CAUSES]]
    if (more := len(found.causes) - _MOST_CAUSES) > 0:
        causes.append(f"{counted(more, 'more pod')}")
    if found.lacking:
        causes.append(f"{counted(found.lacking, 'pod')} {_do(found.lacking)} not exist")
    return f"{unit.name} is down{lasting}: {'; '.join(causes)}"


def cause_text(cause: PodCause, now: datetime, *, name: bool = True) -> str:
    """`shard-0-3 Pending, Unschedulable: 0/3 nodes are available`."""
    since = for_how_long(cause.since, now)
    phase = cause.phase
    if phase == "Terminating" and since:
        phase = f"{phase} for {since}"
    text = "" if cause.text == "is being deleted" else f", {cause.text}"
    return f"{cause.name} {phase}{text}" if name else f"{phase}{text}"


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def unit_document(unit: UnitPicture, *, pods: bool = False) -> Json:
    found: Json = {
        "name": unit.name,
        "kind": "group" if unit.is_group else "pod",
        "state": str(unit.state),
        "available": unit.available,
        "need": unit.need,
        "since": unit.since or None,
        "nodes": unit.nodes,
        "causes": [] if unit.is_up else [cause_document(one) for one in waited(unit).causes],
    }
    if pods:
        found["pods"] = [pod_document(pod, unit) for pod in unit.pods]
    return found


def pod_document(pod: DetailedPod, unit: UnitPicture) -> Json:
    return {
        "name": pod.metadata.name,
        "node": pod.spec.node_name or None,
        "available": unit.serves(pod),
    }


def cause_document(cause: PodCause) -> Json:
    return {
        "pod": cause.name,
        "phase": cause.phase,
        "text": cause.text,
        "since": cause.since or None,
    }
