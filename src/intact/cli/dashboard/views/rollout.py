"""RoleBasedGroups: how far each role is, how far roles are apart over time, their revisions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from intact.cli.dashboard.chart import chart
from intact.cli.dashboard.history import History, skew_of
from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import Unknown, Values
from intact.cli.output import age_of
from intact.cli.rbg.report import as_document
from intact.cli.rbg.tree import progress_of
from intact.cli.why.rbg import about_rbg
from intact.cli.why.units import for_how_long
from intact.model.rbg import RoleBasedGroup

Json = dict[str, Any]
WHOLE = 100
"""Percent: the top of a curve of skew."""


def rollouts(moment: Moment) -> Values:
    found = sorted(moment.objects.rbgs, key=lambda one: (one.metadata.namespace, one.metadata.name))
    return {"rollouts": [as_document(one, {}) for one in found]}


def group_named(moment: Moment, namespace: str, name: str) -> RoleBasedGroup:
    """Raises `Unknown`."""
    for one in moment.objects.rbgs:
        if (one.metadata.namespace, one.metadata.name) == (namespace, name):
            return one
    raise Unknown(f"there is no RoleBasedGroup {name} in namespace {namespace}")


def rollout(
    moment: Moment,
    group: RoleBasedGroup,
    history: History,
    revisions: Sequence[Json],
    *,
    end: datetime,
    at: datetime | None = None,
) -> Values:
    """`revisions` are those of `intact rbg history`, oldest first."""
    numbers: Mapping[str, int] = {one["name"]: one["revision"] for one in revisions}
    document = as_document(group, numbers)
    return {
        "rollout": document,
        "roles": [_role(one, group, moment.now) for one in document["roles"]],
        "skews": [
            {
                "name": one.name,
                "now": _percent(skew.now),
                "bound": None if skew.bound is None else _percent(skew.bound),
                "chart": chart(history.of_rollout(group, one.name), end, most=WHOLE, at=at),
            }
            for one in group.spec.coordination
            if (skew := skew_of(group, one.name)) is not None
        ],
        "revisions": [_revision(one, moment.now) for one in reversed(revisions)],
        "lines": about_rbg(moment.picture, group, numbers, moment.now).lines,
    }


def _role(one: Json, group: RoleBasedGroup, now: datetime) -> Values:
    progress = progress_of(group).get(one["name"])
    whole = max(one["desired"], 1)
    return {
        **one,
        "allowed": progress.allowed if progress is not None else None,
        "since": for_how_long(one["since"] or "", now),
        "part": min(100, 100 * one["updatedReady"] // whole),
        "begun": min(100, 100 * one["updated"] // whole),
    }


def _revision(one: Json, now: datetime) -> Values:
    words = [word for word in ("current", "update") if one[word]]
    return {
        "number": one["revision"],
        "name": one["name"],
        "age": age_of(one["created"], now),
        "state": ", ".join(words),
        "changed": "; ".join(f"{role}: {said}" for role, said in one["changed"].items()),
        "images": "; ".join(
            f"{role}: {', '.join(images)}" for role, images in one["images"].items()
        ),
    }


def _percent(part: Any) -> str:
    return f"{float(100 * part):.0f} %"
