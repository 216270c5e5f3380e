"""How pictures look."""

import pytest
from rich.console import Console, RenderableType

from demo.view import BudgetView, NodeView, Picture, PodView, Section, line, render
from demo.watch import PodState

REFUSAL = (
    'error when evicting pods/"a-0" -n "llm" (will retry after 5s): admission webhook '
    '"evictions.gate.intact.dev" denied the request: Group a cannot go now.'
)
SECTION = Section(
    name="PodUnavailableBudget",
    groups=("a", "b"),
    down=("b",),
    worst=1,
    pods=(
        PodView("a-0", "a", "node-1", PodState.READY),
        PodView("b-0", "b", "node-0", PodState.TERMINATING),
        PodView("b-1", "b", "", PodState.PENDING),
    ),
    budget=BudgetView(allowed=0, current=1, desired=1, total=2),
)
ALONE = Section(
    name="PodDisruptionBudget",
    groups=("c",),
    down=(),
    worst=0,
    pods=(PodView("c-0", "c", "node-1", PodState.NOT_READY),),
    budget=None,
)
PICTURE = Picture(
    title="kubectl drain node-0",
    seconds=3.25,
    nodes=(NodeView("node-0", cordoned=True), NodeView("node-1", cordoned=False)),
    sections=(SECTION, ALONE),
    output=(REFUSAL,),
)


def shown(what: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return capture.get().splitlines()


def test_the_picture_shows_groups_by_node_the_budgets_and_the_last_refusal() -> None:
    rows = [" ".join(row.strip("│ ").split()) for row in shown(render(PICTURE))]
    assert rows[1:-1] == [
        "node-0 cordoned node-1 unplaced",
        "PodUnavailableBudget a ● up",
        "b ○ · DOWN",
        "PodDisruptionBudget c ◐ up",
        "",
        "budget, in groups allowed current desired total down at worst",
        "PodUnavailableBudget 0 1 1 2 1 1",
        "PodDisruptionBudget - - - - 0 0",
        "",
        "a-0 refused (429), retry in 5s",
        "",
        "last refusal: Group a cannot go now.",
    ]


def test_the_picture_fits_a_terminal_of_80_columns() -> None:
    wide, narrow = (shown(render(PICTURE), width) for width in (120, 80))
    assert len(wide) == len(narrow)


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (SECTION, "PodUnavailableBudget  a ●  b ○·  down: 1"),
        (ALONE, "PodDisruptionBudget   c ◐  down: 0"),
    ],
    ids=["PUB", "PDB"],
)
def test_without_a_terminal_a_section_is_a_line(section: Section, expected: str) -> None:
    assert line(section) == expected
