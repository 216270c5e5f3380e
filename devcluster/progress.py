"""Progress messages during long steps."""

from __future__ import annotations

import sys
from collections.abc import Callable

Report = Callable[[str], None]


def to_stderr(message: str) -> None:
    print(f"devcluster: {message}", file=sys.stderr, flush=True)


def silent(message: str) -> None:
    pass
