"""What each view of the page shows, as values for its template."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from intact.cli.dashboard.moment import History, Moment, Point
from intact.cli.rbg.report import as_document
from intact.cli.why.budget import about_budget
from intact.cli.why.events import Refused
from intact.cli.why.group import about_groups
from intact.cli.why.node import about_node
from intact.cli.why.pod import about_pod
from intact.cli.why.rbg import about_rbg
from intact.model.pod import DetailedPod
from intact.model.pod_state import is_finished, is_ready, is_terminating
from intact.picture.budgets import BudgetPicture
from intact.picture.reasons import Word
from intact.picture.units import UnitPicture

MOST_GROUPS = 200
"""On one page; those that are down come first."""
MOST_NODES = 24
"""Columns; with more nodes, a group shows its pods in one row."""
WIDTH, HEIGHT = 600, 120
Values = dict[str, Any]


class Unknown(LookupError):
    """There is no such object."""


@dataclass(frozen=True, slots=True)
class Filter:
    namespace: str = ""
    budget: str = ""
    node: str = ""
    text: str = ""

    def takes(self, unit: UnitPicture, budgets: Iterable[BudgetPicture]) -> bool:
        names = [one.reference for one in budgets]
        pods = [pod.metadata.name for pod in unit.pods]
        texts = [unit.name, unit.namespace, *names, *pods, *unit.nodes]
        return (
            (not self.namespace or unit.namespace == self.namespace)
            and (not self.budget or self.budget in names)
            and (not self.node or self.node in unit.nodes)
            and (not self.text or any(self.text.lower() in one.lower() for one in texts))
        )


def cluster(moment: Moment, wanted: Filter) -> Values:
    picture = moment.picture
    nodes = sorted(picture.objects.nodes, key=lambda one: one.metadata.name)
    found = [(unit, budgets) for unit, budgets in picture.groups if wanted.takes(unit, budgets)]
    found.sort(key=lambda one: (one[0].is_up, one[0].namespace, one[0].name))
    shown = found[:MOST_GROUPS]
    columns = [
        one.metadata.name for one in nodes if not wanted.node or one.metadata.name == wanted.node
    ]
    wide = len(columns) > MOST_NODES
    return {
        "budgets": [_bar(one) for one in picture.budgets if _takes(wanted, one)],
        "nodes": [
            {
                "name": one.metadata.name,
                "cordoned": one.spec.unschedulable,
                "ready": one.is_ready,
            }
            for one in nodes
            if one.metadata.name in columns
        ],
        "wide": wide,
        "groups": [_group(unit, [] if wide else columns) for unit, _budgets in shown],
        "down": sum(not unit.is_up for unit, _budgets in found),
        "found": len(found),
        "left_out": len(found) - len(shown),
        "namespaces": sorted({pod.metadata.namespace for pod in picture.objects.pods}),
        "filter": wanted,
        "unreadable": picture.objects.unreadable,
    }


def _takes(wanted: Filter, budget: BudgetPicture) -> bool:
    return (not wanted.namespace or budget.namespace == wanted.namespace) and (
        not wanted.budget or budget.reference == wanted.budget
    )


def _bar(one: BudgetPicture) -> Values:
    total = max(one.total, one.current, 1)
    return {
        "kind": one.kind,
        "namespace": one.namespace,
        "name": one.name,
        "reference": one.reference,
        "unit": one.unit,
        "available": one.current,
        "desired": one.desired,
        "total": one.total,
        "allowed": one.allowed,
        "problem": one.not_working or one.never,
        "part": 100 * one.current // total,
        "mark": 100 * one.desired // total,
    }


def _group(unit: UnitPicture, columns: Sequence[str]) -> Values:
    by_node: Mapping[str, list[Values]] = defaultdict(list)
    for pod in unit.pods:
        by_node[pod.spec.node_name if pod.spec.node_name in columns else ""].append(_pod(pod, unit))
    return {
        "namespace": unit.namespace,
        "name": unit.name,
        "up": unit.is_up,
        "state": str(unit.state),
        "available": unit.available,
        "need": unit.need,
        "cells": [by_node[name] for name in columns],
        "others": by_node[""],
    }


def _pod(pod: DetailedPod, unit: UnitPicture | None = None) -> Values:
    let_go = unit is not None and pod.metadata.uid in unit.let_go
    return {
        "namespace": pod.metadata.namespace,
        "name": pod.metadata.name,
        "node": pod.spec.node_name,
        "state": "terminating" if let_go else state_of(pod),
    }


def state_of(pod: DetailedPod) -> str:
    if is_terminating(pod):
        return "terminating"
    if is_finished(pod):
        return "finished"
    if not pod.spec.node_name:
        return "pending"
    return "ready" if is_ready(pod) else "unready"


def budget(
    moment: Moment,
    history: History,
    refused: Sequence[Refused],
    short: str,
    namespace: str,
    name: str,
) -> Values:
    wanted = (f"{short}/{name}", namespace)
    for one in moment.picture.budgets:
        if (one.reference, one.namespace) == wanted:
            return {
                **_bar(one),
                "lines": about_budget(moment.picture, one, refused, moment.now).lines,
                "groups": [_group(unit, []) for unit in one.units[:MOST_GROUPS]],
                "left_out": max(0, len(one.units) - MOST_GROUPS),
                "timeline": timeline(history.of(one), moment.now),
            }
    raise Unknown(f"there is no budget {short}/{name} in namespace {namespace}")


def timeline(points: Sequence[Point], now: datetime) -> Values | None:
    """Two lines of steps, in a field of WIDTH by HEIGHT."""
    if not points:
        return None
    begun = points[0].at
    span = max((now - begun).total_seconds(), 1.0)
    most = max(max(one.total, one.available, one.desired, 1) for one in points)

    def steps(values: Sequence[int]) -> str:
        found: list[str] = []
        before: int | None = None
        for point, value in zip(points, values, strict=True):
            x = WIDTH * (point.at - begun).total_seconds() / span
            if before is not None:
                found.append(f"{x:.1f},{HEIGHT - HEIGHT * before / most:.1f}")
            found.append(f"{x:.1f},{HEIGHT - HEIGHT * value / most:.1f}")
            before = value
        found.append(f"{WIDTH},{HEIGHT - HEIGHT * values[-1] / most:.1f}")
        return " ".join(found)

    return {
        "available": steps([one.available for one in points]),
        "desired": steps([one.desired for one in points]),
        "seconds": int(span),
        "most": most,
        "least": min(one.available for one in points),
    }


def rollouts(moment: Moment) -> Values:
    return {"rollouts": [as_document(one, {}) for one in moment.objects.rbgs]}


def rollout(moment: Moment, namespace: str, name: str) -> Values:
    for one in moment.objects.rbgs:
        if (one.metadata.namespace, one.metadata.name) == (namespace, name):
            found = about_rbg(moment.picture, one, {}, moment.now)
            return {"rollout": as_document(one, {}), "lines": found.lines}
    raise Unknown(f"there is no RoleBasedGroup {name} in namespace {namespace}")


def drains(moment: Moment) -> Values:
    """Cordoned nodes, with what still holds them."""
    found = []
    for node in sorted(moment.objects.nodes, key=lambda one: one.metadata.name):
        if not node.spec.unschedulable:
            continue
        verdicts = [
            moment.judge.of(pod)
            for pod in moment.objects.pods
            if pod.spec.node_name == node.metadata.name
        ]
        found.append(
            {
                "name": node.metadata.name,
                "pods": len(verdicts),
                "waiting": sum(one.word is not Word.MAY_GO for one in verdicts),
                "lines": about_node(moment.picture, node, moment.now).lines,
            }
        )
    return {"drains": found}


def why_pod(moment: Moment, namespace: str, name: str) -> Values:
    for pod in moment.objects.pods:
        if (pod.metadata.namespace, pod.metadata.name) == (namespace, name):
            found = about_pod(moment.picture, pod, moment.now)
            return {"what": f"pod {name}", "word": str(found.word), "lines": found.lines}
    raise Unknown(f"there is no pod {name} in namespace {namespace}")


def why_node(moment: Moment, name: str) -> Values:
    for node in moment.objects.nodes:
        if node.metadata.name == name:
            found = about_node(moment.picture, node, moment.now)
            return {"what": f"node {name}", "word": str(found.word), "lines": found.lines}
    raise Unknown(f"there is no node {name}")


def why_group(moment: Moment, namespace: str, name: str) -> Values:
    groups = [
        one for one in moment.picture.groups if (one[0].namespace, one[0].name) == (namespace, name)
    ]
    if not groups:
        raise Unknown(f"there is no group {name} in namespace {namespace}")
    found = about_groups(moment.picture, groups, moment.now)
    return {"what": f"group {name}", "word": str(found.word), "lines": found.lines}
