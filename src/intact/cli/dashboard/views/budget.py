"""One budget: its units and their reasons, what it allows, how it went, and who was refused."""

from collections.abc import Sequence
from datetime import datetime

from intact.cli.dashboard.chart import chart
from intact.cli.dashboard.history import Point
from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import Values, bar, pages, row_of_unit, row_values
from intact.cli.why.budget import verdict_lines
from intact.cli.why.events import Refused
from intact.cli.why.units import for_how_long
from intact.picture.budget_standing import standing_of
from intact.picture.budgets import BudgetPicture

MOST_ROWS = 100
MOST_REFUSALS = 50


def budget(
    moment: Moment,
    found: BudgetPicture,
    points: Sequence[Point],
    refused: Sequence[Refused],
    *,
    end: datetime,
    at: datetime | None = None,
    page: int = 1,
) -> Values:
    """`end` is that of the timeline; `at`, the moment of it that a film stands at."""
    standing = standing_of(found, moment.objects.leading)
    rows = [row_of_unit(unit, (found,)) for unit in found.units]
    shown, number, last = pages(rows, page, MOST_ROWS)
    return {
        "budget": bar(found),
        "word": str(standing.word),
        "lines": verdict_lines(standing, moment.now),
        "rows": [row_values(row, (), moment.now) for row in shown],
        "page": number,
        "pages": last,
        "timeline": chart(points, end, at=at),
        "refused": [refusal(one, moment.now) for one in refused[:MOST_REFUSALS]],
        "more_refused": max(0, len(refused) - MOST_REFUSALS),
    }


def refusal(one: Refused, now: datetime) -> Values:
    return {
        "ago": for_how_long(one.last, now),
        "times": one.times,
        "operation": one.operation,
        "users": one.users,
        "text": one.text,
    }
