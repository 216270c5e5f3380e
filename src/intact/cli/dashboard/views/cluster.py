"""Groups and nodes, and a bar for each budget.

Rows that are down come first, on several pages in sections of their own; pods that no budget and no
group holds come last. With many nodes, only those that a maintenance is about have a column:
cordoned ones, and ones that are not ready.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import (
    Row,
    Values,
    bar,
    by_number,
    pages,
    row_of_loose,
    row_of_pods,
    row_of_unit,
    row_values,
)
from intact.model.places import Node
from intact.model.pod import DetailedPod
from intact.picture.budgets import BudgetPicture
from intact.picture.picture import Picture

MOST_ROWS = 100
"""On one page."""
MOST_COLUMNS = 16
MOST_TILES = 600
MOST_BARS = 100
LOOSE = "pods without a budget"


@dataclass(frozen=True, slots=True)
class Filter:
    namespace: str = ""
    budget: str = ""
    """`pub/llm`."""
    node: str = ""
    text: str = ""

    def takes(self, row: Row) -> bool:
        names = [one.reference for one in row.budgets]
        return (
            (not self.namespace or row.namespace == self.namespace)
            and (not self.budget or self.budget in names)
            and (not self.node or self.node in row.nodes)
            and (not self.text or self._has_text(row, names))
        )

    def takes_loose(self, pod: DetailedPod) -> bool:
        """A pod by itself."""
        meta, node = pod.metadata, pod.spec.node_name
        return (
            not self.budget
            and (not self.namespace or meta.namespace == self.namespace)
            and (not self.node or node == self.node)
            and (not self.text or self._is_in(meta.name, meta.namespace, node))
        )

    def takes_budget(self, budget: BudgetPicture, *, has_rows: bool) -> bool:
        """`has_rows`: some of what it counts is taken."""
        return (
            (not self.namespace or budget.namespace == self.namespace)
            and (not self.budget or budget.reference == self.budget)
            and (not self.node or has_rows)
            and (not self.text or has_rows or self._is_in(budget.reference, budget.namespace))
        )

    def _has_text(self, row: Row, names: Sequence[str]) -> bool:
        pods = (pod.metadata.name for pod in row.pods)
        return self._is_in(row.name, row.namespace, *names, *row.nodes, *pods)

    def _is_in(self, *texts: str) -> bool:
        wanted = self.text.lower()
        return any(wanted in one.lower() for one in texts)


def cluster(moment: Moment, wanted: Filter, page: int = 1) -> Values:
    picture = moment.picture
    found = sorted(filter(wanted.takes, _rows(picture)), key=_down_first)
    found += _loose_rows(picture, wanted)
    shown, number, last = pages(found, page, MOST_ROWS)
    nodes = sorted(picture.objects.nodes, key=lambda one: by_number(one.metadata.name))
    columns = _columns(nodes, wanted)
    names = [one.metadata.name for one in columns]
    counting = {id(one) for row in found for one in row.budgets}
    budgets = [
        one for one in picture.budgets if wanted.takes_budget(one, has_rows=id(one) in counting)
    ]
    budgets.sort(key=lambda one: (one.current >= one.desired, *_place(one)))
    groups = [row for row in found if row.is_group]
    pods, places = picture.objects.pods, nodes
    if wanted != Filter():
        pods = list({pod.metadata.uid: pod for row in found for pod in row.pods}.values())
        with_pods = {pod.spec.node_name for pod in pods}
        places = [one for one in nodes if one.metadata.name in with_pods]
    sections = [
        {"title": title, "rows": [row_values(row, names, moment.now) for row in rows]}
        for title, rows in _sections(shown, apart=last > 1).items()
    ]
    return {
        "summary": {
            "groups": len(groups),
            "down": sum(not row.is_up for row in groups),
            "pods": len(pods),
            "nodes": len(places),
            "cordoned": sum(one.spec.unschedulable for one in places),
            "budgets": len(budgets),
        },
        "budgets": [bar(one) for one in budgets[:MOST_BARS]],
        "more_budgets": max(0, len(budgets) - MOST_BARS),
        "columns": [_node(one) for one in columns],
        "other_nodes": _other_nodes(shown, names),
        "sections": sections,
        "page": number,
        "pages": last,
        "tiles": _tiles(picture, nodes),
        "more_tiles": max(0, len(nodes) - MOST_TILES),
        "namespaces": sorted({pod.metadata.namespace for pod in picture.objects.pods}),
        "references": sorted({one.reference for one in picture.budgets}),
        "filter": wanted,
    }


def _rows(picture: Picture) -> Iterator[Row]:
    for unit, budgets in picture.groups:
        yield row_of_unit(unit, budgets)
    for budget in picture.budgets:
        if not budget.in_groups and budget.units:
            yield row_of_pods(budget)


def _loose_rows(picture: Picture, wanted: Filter) -> list[Row]:
    """One for each namespace: the pods that no budget and no group holds."""
    held = {pod.metadata.uid for unit, _budgets in picture.groups for pod in unit.pods}
    for budget in picture.budgets:
        held.update(pod.metadata.uid for unit in budget.units for pod in unit.pods)
    found: dict[str, list[DetailedPod]] = {}
    for pod in picture.objects.pods:
        if pod.metadata.uid not in held and wanted.takes_loose(pod):
            found.setdefault(pod.metadata.namespace, []).append(pod)
    return [row_of_loose(namespace, pods) for namespace, pods in sorted(found.items())]


def _down_first(row: Row) -> tuple[object, ...]:
    first = next(iter(row.budgets), None)
    place = _place(first) if first is not None else ()
    return row.is_up, first is None, *place, by_number(row.namespace), by_number(row.name)


def _place(budget: BudgetPicture) -> tuple[object, ...]:
    return by_number(budget.namespace), budget.reference


def _sections(rows: Sequence[Row], *, apart: bool) -> dict[str, list[Row]]:
    """By budget. A group that two budgets count is with the first. `apart`: rows that are down have
    sections of their own, which come first; else a section keeps all its rows together."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        title = _title(row)
        found.setdefault(f"{title}: down" if apart and not row.is_up else title, []).append(row)
    return found


def _title(row: Row) -> str:
    first = next(iter(row.budgets), None)
    if first is not None:
        return f"{first.reference} in {first.namespace}"
    return "groups without a budget" if row.is_group else LOOSE


def _columns(nodes: Sequence[Node], wanted: Filter) -> list[Node]:
    if wanted.node:
        return [one for one in nodes if one.metadata.name == wanted.node]
    if len(nodes) <= MOST_COLUMNS:
        return list(nodes)
    return [one for one in nodes if one.spec.unschedulable or not one.is_ready][:MOST_COLUMNS]


def _other_nodes(rows: Sequence[Row], columns: Sequence[str]) -> int:
    """How many nodes without a column have pods of these rows. The page need not know the nodes."""
    return len({name for row in rows for name in row.nodes} - set(columns))


def _node(one: Node) -> Values:
    return {
        "name": one.metadata.name,
        "cordoned": one.spec.unschedulable,
        "ready": one.is_ready,
    }


def _tiles(picture: Picture, nodes: Sequence[Node]) -> list[Values]:
    """Every node with the number of its pods; those that are cordoned or not ready first."""
    counts = Counter(pod.spec.node_name for pod in picture.objects.pods)
    first = sorted(nodes, key=lambda one: not one.spec.unschedulable and one.is_ready)
    return [{**_node(one), "pods": counts[one.metadata.name]} for one in first[:MOST_TILES]]
