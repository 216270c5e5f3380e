"""Nodes that are being drained: how far each is, and what holds its pods."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from intact.cli.dashboard.history import Drain
from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import Values, by_number, mark
from intact.cli.durations import duration
from intact.cli.why.holders import LEFT, gathered, holder_lines
from intact.model.places import Node
from intact.model.pod_state import is_terminating
from intact.picture.reasons import Word
from intact.picture.verdict import PodVerdict
from intact.sandbox.rehearsal.film import Refusal

MOST_DRAINS = 30
MOST_MARKS = 100
MOST_REFUSALS = 20


def drains(moment: Moment, seen: Mapping[str, Drain], refusals: Sequence[Refusal] = ()) -> Values:
    """`refusals` are those of a film, up to the moment."""
    nodes = [one for one in moment.objects.nodes if one.spec.unschedulable]
    nodes.sort(key=lambda one: by_number(one.metadata.name))
    by_node: dict[str, list[PodVerdict]] = {one.metadata.name: [] for one in nodes}
    for pod in moment.objects.pods:
        if pod.spec.node_name in by_node:
            by_node[pod.spec.node_name].append(moment.judge.of(pod))
    found = [
        _drain(node, by_node[node.metadata.name], seen.get(node.metadata.name), moment.now)
        for node in nodes
    ]
    found.sort(key=lambda one: not one["asked"])  # empty nodes last
    return {
        "drains": found[:MOST_DRAINS],
        "more": max(0, len(found) - MOST_DRAINS),
        "refusals": refusals[-MOST_REFUSALS:][::-1],
    }


def _drain(node: Node, verdicts: Sequence[PodVerdict], seen: Drain | None, now: datetime) -> Values:
    asked = [one for one in verdicts if one.reason not in LEFT]
    here = {one.pod.metadata.uid for one in asked}
    gone = len(seen.pods - here) if seen is not None else 0
    leaving = sum(is_terminating(one.pod) for one in asked)
    waiting = [one for one in asked if not is_terminating(one.pod)]
    whole = max(gone + len(asked), 1)
    held = sum(one.word is not Word.MAY_GO for one in waiting)
    return {
        "name": node.metadata.name,
        "ready": node.is_ready,
        "asked": len(asked),
        "gone": gone,
        "leaving": leaving,
        "held": held,
        "free": len(waiting) - held,
        "left": len(verdicts) - len(asked),
        "part": 100 * gone // whole,
        "begun": 100 * (gone + leaving) // whole,
        "since": duration((now - seen.began).total_seconds()) if seen is not None else "",
        "marks": [mark(one.pod) for one in asked[:MOST_MARKS]],
        "more": max(0, len(asked) - MOST_MARKS),
        "lines": holder_lines(gathered(waiting), now, namespaces=True),
    }
