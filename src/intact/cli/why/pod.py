"""`intact why pod/NAME`: what its budgets say, what they wait for, and how to let it go."""

from datetime import datetime
from typing import Any

from intact.cli.why.report import MAY_GO, Report, report, said_by
from intact.cli.why.units import (
    cause_document,
    cause_text,
    for_how_long,
    unit_document,
    unit_lines,
)
from intact.model.pod import DetailedPod
from intact.picture.budget_verdict import BudgetVerdict
from intact.picture.picture import Picture
from intact.picture.reasons import Word
from intact.picture.units import UnitPicture
from intact.picture.verdict import PodVerdict, judge

Json = dict[str, Any]


def about_pod(picture: Picture, pod: DetailedPod, now: datetime) -> Report:
    found = judge(picture, pod, now)
    lines = pod_lines(found, now)
    return report(lines, pod_verdict_document(found), found.word, picture.objects.unreadable)


def pod_lines(found: PodVerdict, now: datetime) -> list[str]:
    """As people read it."""
    return [_title(found), *_state(found, now), *verdict_lines(found, now)]


def verdict_lines(found: PodVerdict, now: datetime) -> list[str]:
    """What holds it, when it may go, and how to let it go now."""
    rows = [(one.budget.reference, one.text, str(one.word)) for one in found.budgets]
    own = [(found.text, "", str(found.word))] if found.text else []
    said = said_by(own + rows)
    lines = said[: len(own)]
    for line, one in zip(said[len(own) :], found.budgets, strict=True):
        lines += [line, *unit_lines(one.waits_for, now, "    ")]
    if not said:
        lines.append("  no budget covers it")
    lines.append(found.when or MAY_GO)
    if found.release:
        lines.append(f"  to let it go now: {' && '.join(found.release)}")
    return [*lines, *(f"  note: {one}" for one in found.notes)]


def _title(found: PodVerdict) -> str:
    pod = found.pod
    named = f"pod {pod.metadata.name} ({pod.spec.node_name or 'on no node'})"
    if found.group is not None:
        return f"{named} belongs to group {found.group.name} ({group_text(found.group)})"
    return f"{named} is {'ready' if found.cause is None else 'not ready'}"


def group_text(unit: UnitPicture) -> str:
    """`4 of 4 ready, needs 4`."""
    need = "nothing says how many it needs" if unit.need is None else f"needs {unit.need}"
    return f"{unit.available} of {len(unit.pods)} ready, {need}"


def _state(found: PodVerdict, now: datetime) -> list[str]:
    """Why the pod itself is not available."""
    if found.cause is None or found.text:
        return []
    since = for_how_long(found.cause.since, now)
    lasting = f" for {since}" if since else ""
    return [f"  it is down{lasting}: {cause_text(found.cause, now, name=False)}"]


def pod_verdict_document(found: PodVerdict) -> Json:
    """Its fields stay as they are from version to version; docs/why.md lists them."""
    meta = found.pod.metadata
    return {
        "kind": "pod",
        "namespace": meta.namespace,
        "name": meta.name,
        "node": found.pod.spec.node_name or None,
        "verdict": str(found.word),
        "reason": str(found.reason),
        "text": found.text,
        "group": unit_document(found.group) if found.group is not None else None,
        "cause": cause_document(found.cause) if found.cause is not None else None,
        "budgets": [budget_verdict_document(one) for one in found.budgets],
        "when": found.when,
        "release": list(found.release) if found.word is not Word.MAY_GO else [],
        "notes": list(found.notes),
    }


def budget_verdict_document(found: BudgetVerdict) -> Json:
    return {
        "budget": found.budget.reference,
        "namespace": found.budget.namespace,
        "verdict": str(found.word),
        "reason": str(found.reason),
        "text": found.text,
        "when": found.when,
        "waitsFor": [unit_document(one.unit) for one in found.waits_for],
        "note": found.note,
    }
