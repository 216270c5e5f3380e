"""Pods gathered by what holds them: those that are held for longest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from intact.cli.output import counted
from intact.cli.why.report import said_by
from intact.cli.why.units import for_how_long, unit_document, unit_lines
from intact.model.listing import listed
from intact.picture.causes import Waited
from intact.picture.reasons import Reason, Word, strictness
from intact.picture.units import unready_since
from intact.picture.verdict import PodVerdict

Json = dict[str, Any]
LEFT = (Reason.DAEMON_SET, Reason.MIRROR)
"""Pods that drains leave where they are: they hold up nothing."""
_MOST_PODS = 10


@dataclass
class Holder:
    """A budget, or what holds pods beside budgets."""

    namespace: str
    name: str
    word: Word
    reason: Reason
    text: str
    when: str
    since: str = ""
    """Since when it has held something; empty if that is not known."""
    waits_for: Sequence[Waited] = ()
    pods: list[str] = field(default_factory=list)


def gathered(verdicts: Iterable[PodVerdict]) -> list[Holder]:
    """Without pods that may go, and those that drains leave. A pod that two budgets hold is with
    both."""
    found: dict[tuple[str, ...], Holder] = {}
    for one in verdicts:
        if one.reason in LEFT:
            continue
        for key, holder in _holders(one):
            found.setdefault(key, holder).pods.append(one.pod.metadata.name)
    return sorted(found.values(), key=_longest_first)


def _longest_first(one: Holder) -> tuple[bool, str, int, str, str]:
    return not one.since, one.since, -strictness(one.word), one.namespace, one.name


def _holders(found: PodVerdict) -> Iterable[tuple[tuple[str, ...], Holder]]:
    namespace = found.pod.metadata.namespace
    if found.text and found.word is not Word.MAY_GO:
        name = f"pod/{found.pod.metadata.name}"
        since = unready_since(found.pod)
        holder = Holder(namespace, name, found.word, found.reason, found.text, found.when, since)
        yield (namespace, name), holder
    for one in found.holding:
        name = one.budget.reference
        since = min((each.unit.since for each in one.waits_for if each.unit.since), default="")
        key = (namespace, name, one.reason, one.text)
        yield (
            key,
            Holder(namespace, name, one.word, one.reason, one.text, one.when, since, one.waits_for),
        )


def holder_lines(found: Sequence[Holder], now: datetime, *, namespaces: bool = False) -> list[str]:
    rows = []
    for one in found:
        since = for_how_long(one.since, now)
        word = f"{one.word} for {since}" if since and one.word is Word.WAITS else str(one.word)
        name = f"{one.namespace} {one.name}" if namespaces else one.name
        rows.append((name, one.text, word))
    lines = []
    for line, one in zip(said_by(rows), found, strict=True):
        held = f"holds {counted(len(one.pods), 'pod')}: {listed(sorted(one.pods), _MOST_PODS)}"
        is_itself = one.name == f"pod/{one.pods[0]}"
        lines += [line, *([] if is_itself else [f"    {held}"])]
        lines += unit_lines(one.waits_for, now, "    ")
        lines.append(f"    {_sentence(one)}")
    return lines


def _sentence(one: Holder) -> str:
    if one.when.endswith("."):  # of the pod itself
        return one.when
    many = len(one.pods) > 1
    if one.word is Word.NEVER:
        return f"{'They do' if many else 'It does'} not go until {one.when}."
    return f"{'They' if many else 'It'} may go when {one.when}."


def holder_document(one: Holder) -> Json:
    return {
        "namespace": one.namespace,
        "name": one.name,
        "verdict": str(one.word),
        "reason": str(one.reason),
        "text": one.text,
        "when": one.when,
        "since": one.since or None,
        "waitsFor": [unit_document(each.unit) for each in one.waits_for],
        "pods": sorted(one.pods),
    }
