"""Pods, with their group, their budgets, and whether they may go."""

from datetime import datetime

from intact.cli.get.listing import NONE, Heads, Row
from intact.cli.why.pod import pod_verdict_document
from intact.picture.picture import Picture
from intact.picture.verdict import Judge, PodVerdict

HEADS = Heads(["NAME", "GROUP", "BUDGETS", "READY", "NODE", "MAY GO"], ["REASON", "WHEN"])


def rows(picture: Picture, now: datetime) -> list[Row]:
    judge = Judge(picture, now)
    found = [_row(judge.of(pod)) for pod in picture.objects.pods]
    return sorted(found, key=lambda row: (row.namespace, row.names[0]))


def _row(found: PodVerdict) -> Row:
    meta = found.pod.metadata
    return Row(
        namespace=meta.namespace,
        names=(f"pod/{meta.name}", meta.name),
        cells=[
            meta.name,
            found.group.name if found.group is not None else NONE,
            ",".join(one.budget.reference for one in found.budgets) or NONE,
            "True" if found.cause is None else "False",
            found.pod.spec.node_name or NONE,
            str(found.word),
        ],
        more=[str(found.reason), found.when or NONE],
        document=pod_verdict_document(found),
        labels=[meta.labels],
    )
