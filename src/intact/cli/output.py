"""Formats of what commands print, as kubectl has them."""

import json
from datetime import datetime
from typing import Any

from intact.cli.durations import age
from intact.kube.yaml_text import yaml_text
from intact.model.times import parse_time

DOCUMENTS = ("json", "yaml")


def document(value: Any, output: str) -> str:
    """As a JSON or a YAML document."""
    if output == "json":
        return json.dumps(value, indent=4, ensure_ascii=False)
    return yaml_text(value, width=10_000).rstrip("\n")


def age_of(creation_timestamp: str, now: datetime) -> str:
    """`<unknown>` if it is no time."""
    try:
        return age((now - parse_time(creation_timestamp)).total_seconds())
    except ValueError:
        return "<unknown>"


def counted(number: int, one: str, more: str = "") -> str:
    """`1 round`, `2 rounds`."""
    return f"{number} {one if number == 1 else more or one + 's'}"
