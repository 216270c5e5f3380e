"""Log lines, for people or for machines."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from intact.cli.logs import JsonFormatter, TextFormatter, set_up


def record(message: str, *arguments: object, failed: bool = False) -> logging.LogRecord:
    made = logging.LogRecord(
        "intact.kube", logging.WARNING, "file", 1, message, arguments, exc_info=None
    )
    made.created, made.msecs = 1767225600.25, 250.0
    if failed:
        made.exc_info = (ValueError, ValueError("the cause"), None)
    return made


def test_a_line_for_machines_is_one_json_object() -> None:
    line = JsonFormatter().format(record("lost %s", "çà"))
    assert json.loads(line) == {
        "ts": "2026-01-01T00:00:00.250+00:00",
        "level": "warning",
        "logger": "intact.kube",
        "msg": "lost çà",
    }
    assert "çà" in line


def test_an_exception_stays_on_its_line() -> None:
    line = JsonFormatter().format(record("lost", failed=True))
    assert "\n" not in line
    assert json.loads(line)["exception"].endswith("ValueError: the cause")


def test_a_line_for_people_has_milliseconds() -> None:
    line = TextFormatter().format(record("lost %d", 3))
    assert line.endswith(":00:00.250 WARNING intact.kube: lost 3")


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    found = logging.getLogger()
    handlers, level = found.handlers[:], found.level
    found.handlers = []
    yield found
    found.handlers, found.level = handlers, level


@pytest.mark.parametrize(("form", "first"), [("json", "{"), ("text", "2")])
def test_lines_go_to_standard_error(
    root: logging.Logger, monkeypatch: pytest.MonkeyPatch, form: str, first: str
) -> None:
    monkeypatch.setattr(sys, "stderr", error := io.StringIO())
    set_up(form)
    root.debug("nothing")
    assert error.getvalue() == ""
    root.info("something")
    assert error.getvalue().startswith(first)
