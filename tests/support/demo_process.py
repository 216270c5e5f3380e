"""The demo as a process, and what it must show on every cluster."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]


@contextmanager
def demo(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """With all its files under `directory`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(directory), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def check_drain(summary: Json) -> None:
    """Three shards of three pods over three nodes, of which one is drained."""
    assert summary["groups"] == 3
    assert _shown(summary["with_intact"]) == {"pods": 3, "worst": 1, "refused": 3}
    assert _shown(summary["without_intact"]) == {"pods": 3, "worst": 3, "refused": 0}


def _shown(act: Json) -> Json:
    return {name: act[name] for name in ("pods", "worst", "refused")}


def check_rollout(act: Json) -> None:
    assert act["updated"] == "12/12"
    assert 0 < act["skew_percent"] <= 25
    assert act["unavailable"] == {"prefill": 2, "decode": 1}
