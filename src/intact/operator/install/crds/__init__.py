"""The definitions of the kinds that Intact serves, one file each."""

from importlib.resources import files
from typing import Any

import msgspec


def definitions() -> list[dict[str, Any]]:
    """All CustomResourceDefinitions, by name."""
    found = sorted(files(__package__).iterdir(), key=lambda file: file.name)
    return [msgspec.yaml.decode(file.read_bytes()) for file in found if file.name.endswith(".yaml")]
