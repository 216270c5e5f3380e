"""Intact as it was released last, from the history of the repository: what an upgrade starts from.

Change `REVISION` with each release.
"""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

REVISION = "fa5817ab0b80abd129b172e4af18c0e7dd14db9d"
_ROOT = Path(__file__).parents[2]


def earlier_source(directory: Path) -> Path:
    """A directory with the package, for PYTHONPATH."""
    found = subprocess.run(
        ["git", "-C", _ROOT, "archive", REVISION, "src"], capture_output=True, check=False
    )
    if found.returncode:
        pytest.skip("this checkout has no history, so no earlier release to upgrade from")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(directory, filter="data")
    return directory / "src"
