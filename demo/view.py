"""How a picture looks in a terminal. Pure: a picture in, something that rich can print out."""

import re
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from demo.watch import PodState

SYMBOLS = {
    PodState.READY: ("●", "green"),
    PodState.NOT_READY: ("◐", "yellow"),
    PodState.TERMINATING: ("○", "red"),
    PodState.PENDING: ("·", "bright_black"),
}
_OUTPUT_LINES = 5
_REFUSAL = re.compile(
    r'error when evicting pods/"(?P<pod>[^"]+)".*?\(will retry after (?P<pause>\w+)\): '
    r"(?:.*? denied the request: )?(?P<why>.*)"
)


@dataclass(frozen=True, slots=True)
class PodView:
    name: str
    group: str
    node: str
    state: PodState


@dataclass(frozen=True, slots=True)
class NodeView:
    name: str
    cordoned: bool


@dataclass(frozen=True, slots=True)
class BudgetView:
    allowed: int
    current: int
    desired: int
    total: int


@dataclass(frozen=True, slots=True)
class Section:
    """The groups under one budget."""

    name: str
    groups: tuple[str, ...]
    down: tuple[str, ...]
    worst: int
    pods: tuple[PodView, ...]
    """In the order of their names."""
    budget: BudgetView | None
    """None while Intact does not enforce it."""


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    seconds: float
    nodes: tuple[NodeView, ...]
    sections: tuple[Section, ...]
    output: tuple[str, ...] = ()
    """The lines of kubectl so far."""
    footer: str = ""


def render(picture: Picture) -> RenderableType:
    parts: list[RenderableType] = [_grid(picture), Text(), _figures(picture)]
    if picture.output:
        parts += [Text(), *_output(picture.output)]
    if picture.footer:
        parts += [Text(), Text(picture.footer)]
    return Panel(
        Group(*parts),
        title=picture.title,
        title_align="left",
        subtitle=f"{_legend()}   {picture.seconds:.1f} s",
        subtitle_align="right",
    )


def line(section: Section) -> str:
    """The groups in one line, for where there is no terminal."""
    groups = "  ".join(f"{name} {_symbols(section, name).plain}" for name in section.groups)
    return f"{section.name:<20}  {groups}  down: {len(section.down)}"


def _grid(picture: Picture) -> Table:
    """A row for each group, a column for each node."""
    grid = Table(box=None, padding=(0, 2, 0, 0))
    grid.add_column("")
    grid.add_column("")
    for node in picture.nodes:
        note = " cordoned" if node.cordoned else ""
        grid.add_column(f"{node.name}{note}", header_style="red" if node.cordoned else "bold")
    grid.add_column("unplaced")
    grid.add_column("")
    places = [*(node.name for node in picture.nodes), ""]
    for section in picture.sections:
        name = section.name
        for group in section.groups:
            cells = [_symbols(section, group, place) for place in places]
            up = Text("DOWN", "bold red") if group in section.down else Text("up", "green")
            grid.add_row(name, group, *cells, up)
            name = ""
    return grid


def _symbols(section: Section, group: str, node: str | None = None) -> Text:
    text = Text()
    for pod in section.pods:
        if pod.group == group and node in (None, pod.node):
            text.append(*SYMBOLS[pod.state])
    return text


def _figures(picture: Picture) -> Table:
    """A row for each budget."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("budget, in groups", header_style="")
    for column in ("allowed", "current", "desired", "total", "down", "at worst"):
        table.add_column(column, header_style="", justify="right")
    for section in picture.sections:
        budget = section.budget
        figures = ["-"] * 4
        if budget is not None:
            numbers = (budget.allowed, budget.current, budget.desired, budget.total)
            figures = [str(number) for number in numbers]
        worst = Text(str(section.worst), "bold red" if section.worst > 1 else "")
        table.add_row(section.name, *figures, str(len(section.down)), worst)
    return table


def _output(lines: tuple[str, ...]) -> list[Text]:
    """The last lines, one row each. Refusals are long: only the last one is shown in full."""
    rows = []
    for line in lines[-_OUTPUT_LINES:]:
        refusal = _REFUSAL.fullmatch(line)
        text = f"{refusal['pod']} refused (429), retry in {refusal['pause']}" if refusal else line
        rows.append(Text(text, "bright_black", no_wrap=True, overflow="ellipsis"))
    refusals = [found["why"] for line in lines if (found := _REFUSAL.fullmatch(line))]
    if refusals:
        rows += [Text(), Text(f"last refusal: {refusals[-1]}")]
    return rows


def _legend() -> str:
    return "  ".join(f"{symbol} {state.value}" for state, (symbol, _) in SYMBOLS.items())
