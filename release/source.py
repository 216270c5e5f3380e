"""The commit that is released: its version, its time, and a copy of its files."""

import io
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from intact.model.listing import listed
from release.errors import ReleaseError

VERSION_FILE = "src/intact/__init__.py"
"""The one place of the version."""
CHANGELOG = "CHANGELOG.md"
_UNKNOWN = "??"


@dataclass(frozen=True)
class Source:
    """`directory` has the files of the commit and nothing else."""

    directory: Path
    version: str
    epoch: int
    """When the commit was made, in seconds: every time in an artefact."""


def check_out(repository: Path, directory: Path) -> Source:
    """Copy the commit that is checked out; refuse a tree with changes to it."""
    lines = _git(repository, "status", "--porcelain").decode().splitlines()
    if changed := [line[3:] for line in lines if not line.startswith(_UNKNOWN)]:
        raise ReleaseError(f"the tree has changes that are not committed: {listed(changed)}")
    if unknown := [line[3:] for line in lines]:
        sys.stderr.write(f"not in the release, as git does not know it: {listed(unknown)}\n")
    with tarfile.open(fileobj=io.BytesIO(_git(repository, "archive", "HEAD"))) as archive:
        archive.extractall(directory, filter="data")
    version = version_of(directory)
    _check_changelog(directory, version)
    epoch = int(_git(repository, "log", "-1", "--format=%ct"))
    return Source(directory, version, epoch)


def version_of(tree: Path) -> str:
    found = re.search(r'^__version__ = "([^"]+)"$', (tree / VERSION_FILE).read_text(), re.MULTILINE)
    if found is None:
        raise ReleaseError(f"{VERSION_FILE} states no __version__")
    return found[1]


def _check_changelog(tree: Path, version: str) -> None:
    text = (tree / CHANGELOG).read_text()
    heading = f"## {version}"
    entry = re.search(rf"^{re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if entry is None:
        raise ReleaseError(
            f"{CHANGELOG} has no entry for {version}: add the heading '{heading}' and what is new"
        )
    if not entry[1].strip():
        raise ReleaseError(f"the entry for {version} in {CHANGELOG} is empty: say what is new")


def _git(repository: Path, *arguments: str) -> bytes:
    ran = subprocess.run(
        ["git", *arguments],  # noqa: S607
        cwd=repository,
        capture_output=True,
        check=False,
    )
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip()
        raise ReleaseError(f"git {arguments[0]} failed in {repository}: {said}")
    return ran.stdout
