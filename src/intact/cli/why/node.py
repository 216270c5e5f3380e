"""`intact why node/NAME`: its pods, gathered by what holds them."""

from collections.abc import Sequence
from datetime import datetime

from intact.cli.output import counted
from intact.cli.why.holders import LEFT, gathered, holder_document, holder_lines
from intact.cli.why.pod import pod_verdict_document
from intact.cli.why.report import Report, report, strictest
from intact.model.listing import listed
from intact.model.places import Node
from intact.picture.picture import Picture
from intact.picture.reasons import Word
from intact.picture.verdict import Judge, PodVerdict

_MOST_PODS = 10


def about_node(picture: Picture, node: Node, now: datetime) -> Report:
    judge = Judge(picture, now)
    name = node.metadata.name
    found = [judge.of(pod) for pod in picture.objects.pods if pod.spec.node_name == name]
    asked = [one for one in found if one.reason not in LEFT]
    word = strictest(one.word for one in asked)
    holders = gathered(found)
    lines = [_title(node, found), *holder_lines(holders, now, namespaces=True)]
    free = [_name(one) for one in asked if one.word is Word.MAY_GO]
    if free:
        lines.append(f"  may go now: {listed(sorted(free), _MOST_PODS)}")
    left = [_name(one) for one in found if one.reason in LEFT]
    if left:
        lines.append(f"  drains leave: {listed(sorted(left), _MOST_PODS)}")
    document = {
        "kind": "node",
        "name": name,
        "ready": node.is_ready,
        "cordoned": node.spec.unschedulable,
        "holders": [holder_document(one) for one in holders],
        "pods": [pod_verdict_document(one) for one in found],
    }
    return report(lines, document, word, picture.objects.unreadable)


def _title(node: Node, found: Sequence[PodVerdict]) -> str:
    state = "ready" if node.is_ready else "not ready"
    cordoned = ", cordoned" if node.spec.unschedulable else ""
    title = f"node {node.metadata.name} ({state}{cordoned}) has {counted(len(found), 'pod')}"
    counts = [
        ("may go", sum(one.word is Word.MAY_GO for one in found)),
        ("wait", sum(one.word is Word.WAITS for one in found)),
        ("never go", sum(one.word is Word.NEVER and one.reason not in LEFT for one in found)),
    ]
    said = [f"{number} {what}" for what, number in counts if number]
    return f"{title}: {', '.join(said)}" if said else title


def _name(one: PodVerdict) -> str:
    return f"{one.pod.metadata.namespace}/{one.pod.metadata.name}"
