"""Repositories to make releases from."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHEN = 1_700_000_000
"""When the commits of these repositories were made."""
_NOBODY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "a"), ("EMAIL", "a@example.com"), ("DATE", f"{WHEN} +0000"))
}


def git(directory: Path, *arguments: str) -> str:
    ran = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=os.environ | _NOBODY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def commit(directory: Path) -> None:
    """All files, into the repository of the directory, which is made if there is none."""
    git(directory, "init", "--quiet")
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--no-gpg-sign", "--message=All of it")


def copy_of_the_project(directory: Path) -> Path:
    """The project as it stands here, committed or not, as a repository with one commit."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
    shutil.copytree(ROOT, directory, ignore=shutil.ignore_patterns(".git", *ignored))
    commit(directory)
    return directory
