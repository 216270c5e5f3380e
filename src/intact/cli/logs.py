"""Log lines, as text for people or as JSON for machines, on standard error.

Names and messages of others are in them. Whatever is not printable is escaped here, in one place: a
name can neither begin a line of its own nor direct a terminal. A long message is cut.

A call may state what it tells in fields, too, for JSON alone: `log.info("…", extra={"fields":
{"budget": name}})`. Values are strings, lists of strings, numbers or booleans.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

LONGEST = 8192
"""Characters of a message. Container runtimes split lines of 16 KiB."""
LONGEST_FIELD = 512
"""Characters of a string in a field. Names of Kubernetes have at most 253."""
_SUSPECT = re.compile(r"[^\x20-\x7e]")


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, object] = getattr(record, "fields", {})
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _cut(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        for name, value in fields.items():
            line.setdefault(name, _bounded(value))
        return _SUSPECT.sub(_as_json, json.dumps(line, ensure_ascii=False))


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self.default_msec_format = "%s.%03d"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = _cut(record.message)
        return _printable(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's name
        """Indented, so that no line of it looks like one of the log."""
        lines = super().formatException(ei).split("\n")  # type: ignore[arg-type]
        return "\n".join(f"    {_printable(line)}" for line in lines)


def set_up(log_format: str, level: str = "info") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _cut(text: str, longest: int = LONGEST) -> str:
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]}... ({more} characters more)"


def _bounded(value: object) -> object:
    if isinstance(value, list):
        return [_bounded(each) for each in value]
    return _cut(value, LONGEST_FIELD) if isinstance(value, str) else value


def _printable(text: str) -> str:
    return _SUSPECT.sub(_as_text, text)


def _as_text(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else ascii(character)[1:-1]


def _as_json(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]
