"""What several views show: the bar of a budget, rows of pods, the mark of a pod."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from intact.cli.why.units import for_how_long, unit_line
from intact.model.pod import DetailedPod
from intact.model.pod_state import is_finished, is_ready, is_terminating
from intact.picture.budgets import SHORT, BudgetPicture
from intact.picture.causes import waited
from intact.picture.units import UnitPicture

MOST_MARKS = 64
"""Pods of one cell; the rest is a number."""
Values = dict[str, Any]
_DIGITS = re.compile(r"(\d+)")


class Unknown(LookupError):
    """There is no such object."""


@dataclass(frozen=True, slots=True)
class Row:
    """A group, the pods of a budget that counts pods, or pods that nothing holds together."""

    namespace: str
    name: str
    is_group: bool
    budgets: Sequence[BudgetPicture]
    pods: Sequence[DetailedPod]
    is_up: bool
    state: str
    available: int
    need: int | None
    since: str = ""
    let_go: Mapping[str, str] = field(default_factory=dict)
    why: UnitPicture | None = None
    """What is down."""

    @property
    def nodes(self) -> set[str]:
        return {pod.spec.node_name for pod in self.pods if pod.spec.node_name}


def row_of_unit(unit: UnitPicture, budgets: Sequence[BudgetPicture]) -> Row:
    return Row(
        namespace=unit.namespace,
        name=unit.name,
        is_group=unit.is_group,
        budgets=budgets,
        pods=unit.pods,
        is_up=unit.is_up,
        state=str(unit.state),
        available=unit.available,
        need=unit.need,
        since=unit.since,
        let_go=unit.let_go,
        why=None if unit.is_up else unit,
    )


def row_of_pods(budget: BudgetPicture) -> Row:
    up = budget.current >= budget.desired
    return Row(
        namespace=budget.namespace,
        name=budget.reference,
        is_group=False,
        budgets=(budget,),
        pods=[pod for unit in budget.units for pod in unit.pods],
        is_up=up,
        state="available" if up else "down",
        available=budget.current,
        need=budget.desired,
        let_go={uid: at for unit in budget.units for uid, at in unit.let_go.items()},
    )


def row_of_loose(namespace: str, pods: Sequence[DetailedPod]) -> Row:
    return Row(
        namespace=namespace,
        name="",
        is_group=False,
        budgets=(),
        pods=pods,
        is_up=True,
        state="",
        available=sum(state_of(pod) == "ready" for pod in pods),
        need=None,
    )


def row_values(row: Row, columns: Sequence[str], now: datetime) -> Values:
    """With a cell for each node of `columns`, one for all other nodes, and one for no node."""
    by_node: Mapping[str | None, list[DetailedPod]] = defaultdict(list)
    shown = set(columns)
    for pod in row.pods:
        name = pod.spec.node_name
        by_node[name if name in shown or not name else None].append(pod)
    cells = [by_node[name] for name in (*columns, None, "")]
    return {
        "namespace": row.namespace,
        "name": row.name,
        "is_group": row.is_group,
        "up": row.is_up,
        "state": row.state,
        "available": row.available,
        "need": row.need,
        "since": for_how_long(row.since, now) if row.since else "",
        "why": unit_line(waited(row.why), now) if row.why is not None else "",
        "budgets": [bar(one) for one in row.budgets],
        "cells": [_cell(pods, row.let_go) for pods in cells],
    }


def _cell(pods: Sequence[DetailedPod], let_go: Mapping[str, str]) -> Values:
    marks = [mark(pod, let_go=pod.metadata.uid in let_go) for pod in pods[:MOST_MARKS]]
    return {"marks": marks, "more": len(pods) - len(marks)}


def mark(pod: DetailedPod, *, let_go: bool = False) -> Values:
    return {
        "uid": pod.metadata.uid,
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


def bar(one: BudgetPicture) -> Values:
    total = max(one.total, one.current, one.desired, 1)
    return {
        "short": SHORT[one.kind],
        "namespace": one.namespace,
        "name": one.name,
        "reference": one.reference,
        "unit": one.unit,
        "available": one.current,
        "desired": one.desired,
        "total": one.total,
        "allowed": one.allowed,
        "below": one.current < one.desired,
        "problem": one.not_working or one.never,
        "part": 100 * one.current // total,
        "mark": 100 * one.desired // total,
    }


def by_number(name: str) -> list[tuple[int, str]]:
    """The key that puts node-9 before node-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]


def pages(found: Sequence[Row], page: int, most: int) -> tuple[Sequence[Row], int, int]:
    """The rows of a page, its number, and how many there are; the nearest if there is none."""
    last = max(1, -(-len(found) // most))
    number = min(max(page, 1), last)
    return found[(number - 1) * most : number * most], number, last


def named(budgets: Iterable[BudgetPicture], short: str, namespace: str, name: str) -> BudgetPicture:
    """Raises `Unknown`."""
    for one in budgets:
        if (SHORT[one.kind], one.namespace, one.name) == (short, namespace, name):
            return one
    raise Unknown(f"there is no budget {short}/{name} in namespace {namespace}")
