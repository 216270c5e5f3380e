"""Log lines, for people or for machines."""

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from intact.cli.logs import LONGEST, LONGEST_FIELD, JsonFormatter, TextFormatter, set_up


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


FIELDS = {"budget": "b", "users": ["alice", "bob"], "dry_run": False, "times": 3}


def with_fields(**fields: object) -> logging.LogRecord:
    """As a call with `extra={"fields": …}` makes it."""
    made = record("denied %s", "p")
    made.fields = fields
    return made


def test_a_line_for_machines_has_the_fields_of_its_call() -> None:
    line = json.loads(JsonFormatter().format(with_fields(**FIELDS)))
    assert list(line) == ["ts", "level", "logger", "msg", *FIELDS]
    assert {name: line[name] for name in FIELDS} == FIELDS


def test_a_line_for_people_is_the_message_alone() -> None:
    line = TextFormatter().format(with_fields(**FIELDS))
    assert line.endswith("intact.kube: denied p")


def test_no_field_takes_the_place_of_what_every_line_has() -> None:
    line = json.loads(JsonFormatter().format(with_fields(level="info", msg="all is well")))
    assert (line["level"], line["msg"]) == ("warning", "denied p")


def test_a_long_field_is_cut() -> None:
    long = "x" * (LONGEST_FIELD + 10)
    line = json.loads(JsonFormatter().format(with_fields(group=long, users=[long])))
    cut = f"{'x' * LONGEST_FIELD}... (10 characters more)"
    assert (line["group"], line["users"]) == (cut, [cut])


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


def test_lines_below_the_level_are_not_written(
    root: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", error := io.StringIO())
    set_up("text", "warning")
    root.info("nothing")
    assert error.getvalue() == ""
    root.warning("something")
    assert "something" in error.getvalue()
    set_up("text", "debug")
    root.debug("more")
    assert "more" in error.getvalue()


FORGED = {
    "a newline": "a\n2026-01-01 00:00:00.250 INFO    intact: all is well",
    "a carriage return": "a\r2026-01-01 00:00:00.250 INFO    intact: all is well",
    "other ends of lines": "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b",
    "colours of a terminal": "a\x1b[2K\x1b[31mb",
    "an escape of eight bits": "a\x9b31mb",
    "a bell, a backspace and a delete": "a\x07\x08\x7fb",
    "another direction of writing": "a\u202e\u2066b",
    "half of a character": "a\ud800b",
}


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_what_is_told_cannot_forge_a_line_or_direct_a_terminal(
    formatter: logging.Formatter, text: str
) -> None:
    line = formatter.format(record("pod %s", text))
    assert line.splitlines() == [line]
    assert line.isprintable(), ascii(line)
    line.encode()
    if isinstance(formatter, JsonFormatter):
        assert json.loads(line)["msg"] == f"pod {text}"


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_what_is_told_in_a_field_cannot_forge_a_line_either(text: str) -> None:
    line = JsonFormatter().format(with_fields(group=text, users=[text]))
    assert line.splitlines() == [line]
    assert line.isprintable(), ascii(line)
    line.encode()
    found = json.loads(line)
    assert (found["group"], found["users"]) == (text, [text])


def test_a_line_for_people_shows_what_was_replaced() -> None:
    assert TextFormatter().format(record("a\nb\x1b")).endswith(r"intact.kube: a\nb\x1b")


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_a_long_message_is_cut(formatter: logging.Formatter) -> None:
    line = formatter.format(record("%s", "x" * (LONGEST + 1000)))
    assert "xxx... (1000 characters more)" in line
    assert len(line) < LONGEST + 200


def test_the_lines_of_an_exception_are_not_lines_of_their_own() -> None:
    made = record("lost")
    error = ValueError("\n2026-01-01 00:00:00.250 INFO    intact: all is well\x1b[2K")
    made.exc_info = (ValueError, error, None)
    first, *more = TextFormatter().format(made).splitlines()
    assert first.endswith("intact.kube: lost")
    assert len(more) == 2
    assert all(line.startswith("    ") and line.isprintable() for line in more)
