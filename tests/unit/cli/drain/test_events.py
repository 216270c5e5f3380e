"""Events as JSON."""

import json
import re
from datetime import UTC, datetime

import pytest

from intact.cli.drain import events
from intact.cli.drain.events import Event, What, as_json

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_field_that_says_nothing_is_left_out() -> None:
    said = json.loads(as_json(Event(What.BEGUN, node="n", pods=0), NOW))
    assert said == {
        "time": "2026-01-01T00:00:00.000000Z",
        "event": "begun",
        "node": "n",
        "pods": 0,
    }


@pytest.mark.parametrize("what", What)
def test_every_event_is_described(what: What) -> None:
    assert re.search(rf"^\| `{what}` \|", events.__doc__ or "", re.MULTILINE)
