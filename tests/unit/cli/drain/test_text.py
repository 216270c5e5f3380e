"""Plain lines."""

from typing import Any

import pytest

from intact.cli.drain.events import Event, What
from intact.cli.drain.text import line

POD: dict[str, Any] = {"node": "n", "namespace": "ns", "pod": "a-0", "uid": "1"}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event(What.CORDONED, node="n"), "node/n cordoned"),
        (Event(What.CORDONED, node="n", message="already cordoned"), "node/n already cordoned"),
        (Event(What.EVICTING, **POD), "evicting pod ns/a-0"),
        (Event(What.EVICTING, **POD, group="a"), "evicting pod ns/a-0 (group a)"),
        (Event(What.EVICTED, **POD), "pod/a-0 evicted"),
        (Event(What.FAILED, **POD, message="x"), 'error when evicting pods/"a-0" -n "ns": x'),
        (Event(What.LATE, **POD), "pod ns/a-0 came after node/n was cordoned, and is left alone"),
        (
            Event(What.WAITING, namespace="ns", budget="pub/llm", message="x"),
            "waiting for pub/llm in ns: x",
        ),
        (Event(What.PAUSING, seconds=600), "pausing for 10m before the next node"),
        (Event(What.DRAINED, node="n"), "node/n drained"),
        (Event(What.UNCORDONED, node="n"), "node/n uncordoned"),
        (Event(What.LEFT, **POD, message="x"), "  ns/a-0 on n: x"),
        (Event(What.REFUSED, **POD, message="x"), None),
        (Event(What.BEGUN, node="n", pods=1), None),
        (Event(What.ENDED, result="drained"), None),
    ],
)
def test_lines(event: Event, said: str | None) -> None:
    assert line(event) == said
