"""The definitions of the kinds that Intact serves, one file each."""

from importlib.resources import files
from typing import Any

import msgspec


def definitions() -> list[dict[str, Any]]:
    """All CustomResourceDefinitions, by name."""
    found = sorted(files(__package__).iterdir(), key=lambda file: file.name)
    return [_read(file.read_bytes()) for file in found if file.name.endswith(".yaml")]


def _read(text: bytes) -> dict[str, Any]:
    """With a copy in each place that an alias stands for: versions share their schema."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.yaml.decode(text)))
    return found
