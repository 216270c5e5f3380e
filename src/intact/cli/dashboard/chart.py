"""Lines over time as points of an SVG: steps, for a number holds until it changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from intact.cli.dashboard.history import Point
from intact.cli.durations import duration

WIDTH, HEIGHT = 600, 120
TOP = 10
"""Left free above the largest number, so that its line is seen."""
MANY = 20
"""With more, one unit would hardly be seen on a scale that begins at 0."""
FEW = 4
"""The least that the scale has then."""


@dataclass(frozen=True, slots=True)
class Chart:
    lines: Sequence[str]
    """`x,y x,y …`, one for each number of a point."""
    lasted: str
    """`4m10s`: from the first point to the end."""
    most: float
    """The largest number."""
    bottom: float
    least: float
    """The smallest first number."""
    cursor: float | None
    """The x of the moment that a film stands at."""


def chart(
    points: Sequence[Point], end: datetime, *, most: float = 0, at: datetime | None = None
) -> Chart | None:
    """None without a point. The top is `most`, or the largest number if that is larger. The bottom
    is 0; of many units without a `most`, it is as far below the lowest number as that is below the
    top."""
    if not points:
        return None
    begun = points[0].at
    end = max(end, points[-1].at)
    span = max((end - begun).total_seconds(), 1.0)
    numbers = [number for one in points for number in one.numbers]
    top = max(most, 1, *numbers)
    bottom = 0.0
    if not most and top > MANY:
        bottom = max(0.0, top - max(FEW, 2 * (top - min(numbers))))

    def x_of(moment: datetime) -> float:
        return round(WIDTH * max(0.0, min(1.0, (moment - begun).total_seconds() / span)), 1)

    def y_of(number: float) -> float:
        return round(HEIGHT - (HEIGHT - TOP) * (number - bottom) / (top - bottom), 1)

    lines = []
    for index in range(max(len(one.numbers) for one in points)):
        mine = [one for one in points if index < len(one.numbers)]
        steps = []
        for before, one in zip([None, *mine[:-1]], mine, strict=True):
            if before is not None:
                steps.append(f"{x_of(one.at)},{y_of(before.numbers[index])}")
            steps.append(f"{x_of(one.at)},{y_of(one.numbers[index])}")
        steps.append(f"{WIDTH},{y_of(mine[-1].numbers[index])}")
        lines.append(" ".join(steps))
    least = min(one.numbers[0] for one in points)
    cursor = x_of(at) if at is not None else None
    return Chart(lines, duration(span), top, bottom, least, cursor)
