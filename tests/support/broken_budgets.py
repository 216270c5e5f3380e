"""Manifests with one mistake each. The first line names the code that must be found, and its
field."""

from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).with_name("broken_budgets")


@dataclass(frozen=True, slots=True)
class Broken:
    path: Path
    code: str
    field: str

    def __str__(self) -> str:
        return self.path.stem


def broken_budgets() -> list[Broken]:
    return [_read(path) for path in sorted(DIRECTORY.glob("*.yaml"))]


def _read(path: Path) -> Broken:
    code, _, field = path.read_text().splitlines()[0].removeprefix("# ").partition(" ")
    return Broken(path, code, field)
