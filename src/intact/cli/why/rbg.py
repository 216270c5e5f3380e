"""`intact why rbg/NAME`: how far it is, as `intact rbg status` says it, and what holds its pods."""

from collections.abc import Mapping
from datetime import datetime

from intact.cli.rbg.report import as_document
from intact.cli.rbg.tree import lines as tree
from intact.cli.why.holders import gathered, holder_document, holder_lines
from intact.cli.why.report import MAY_GO, Report, report, strictest
from intact.model.labels import ROLE_BASED_GROUP
from intact.model.rbg import RoleBasedGroup
from intact.picture.picture import Picture
from intact.picture.reasons import Word
from intact.picture.verdict import Judge


def about_rbg(
    picture: Picture, group: RoleBasedGroup, numbers: Mapping[str, int], now: datetime
) -> Report:
    """`numbers` are those of revisions, by their name."""
    judge = Judge(picture, now)
    name = group.metadata.name
    found = [
        judge.of(pod)
        for pod in picture.objects.pods
        if pod.metadata.labels.get(ROLE_BASED_GROUP) == name
    ]
    word = strictest(one.word for one in found)
    holders = gathered(found)
    lines = [*tree(group, numbers), *holder_lines(holders, now)]
    if not any(one.budgets for one in found):
        lines.append("  no budget covers its pods")
    if word is Word.MAY_GO:
        lines.append(MAY_GO.replace("It", "Each of its pods") if found else "It has no pods.")
    document = {
        "kind": "rbg",
        **as_document(group, numbers),
        "holders": [holder_document(one) for one in holders],
    }
    return report(lines, document, word, picture.objects.unreadable)
