"""Writes the pinned modules of a Kubernetes minor version: `python -m devcluster pin 1.33`.

Kubernetes cannot be required as a library as it is: its go.mod replaces its own libraries by
directories of its tree. The module written here takes over everything that go.mod requires, and
replaces the libraries by the releases that were made from that tree. A library whose release the
module proxy does not have is taken from the patch before it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from devcluster import pins
from devcluster.errors import BuildError
from devcluster.pins import KUBERNETES
from devcluster.progress import Report


def pin(minor: str, go: Path, report: Report) -> Path:
    """Write go.mod and go.sum for the newest patch of `minor`; the directory they are in."""
    patch = _newest_patch(minor, go)
    version = f"v{minor}.{patch}"
    original = _download(go, KUBERNETES, version)
    if original is None:
        raise BuildError(f"the module proxy does not serve {KUBERNETES} {version}")
    directory = pins.MODULES / pins.module_of(minor)
    report(f"pinning {KUBERNETES} {version} in {directory}")
    libraries = {
        path: _library(go, path, minor, patch, report) for path in _libraries(original.read_text())
    }
    directory.mkdir(exist_ok=True)
    (directory / "go.mod").write_text(
        go_mod(original.read_text(), version, directory.name, libraries)
    )
    (directory / "go.sum").unlink(missing_ok=True)
    _run(go, ["mod", "tidy"], directory)
    return directory


def go_mod(original: str, version: str, name: str, libraries: Mapping[str, str]) -> str:
    """The go.mod of a module that builds the servers of `version`, from that of Kubernetes."""
    settings = re.findall(r"^((?:go|godebug) \S+)$", original, re.MULTILINE)
    required = re.findall(r"^\t(\S+ v\S+)", original, re.MULTILINE)
    parts = [
        f"module intact.dev/devcluster/{name}",
        *settings,
        _block("tool", [f"{KUBERNETES}/cmd/{server}" for server in pins.SERVERS]),
        f"require {KUBERNETES} {version}",
        _block("require", required),
        _block("replace", [f"{path} => {path} {at}" for path, at in libraries.items()]),
    ]
    return "\n\n".join(parts) + "\n"


def _libraries(original: str) -> list[str]:
    return re.findall(r"^\t(\S+) => \./staging/src/\S+$", original, re.MULTILINE)


def _block(word: str, lines: list[str]) -> str:
    return "\n".join([f"{word} (", *(f"\t{line}" for line in lines), ")"])


def _newest_patch(minor: str, go: Path) -> int:
    listed = _run(go, ["list", "-m", "-versions", KUBERNETES], pins.MODULES)
    patches = re.findall(rf" v{re.escape(minor)}\.(\d+)(?!\S)", listed)
    if not patches:
        raise BuildError(f"the module proxy has no release of {KUBERNETES} {minor}")
    return max(int(patch) for patch in patches)


def _library(go: Path, path: str, minor: str, newest: int, report: Report) -> str:
    for patch in range(newest, -1, -1):
        version = f"v0.{minor.removeprefix('1.')}.{patch}"
        if _download(go, path, version) is not None:
            if patch != newest:
                report(f"  {path}: {version}, the newest that the module proxy serves")
            return version
    raise BuildError(f"the module proxy serves no release of {path} for Kubernetes {minor}")


def _download(go: Path, path: str, version: str) -> Path | None:
    """The go.mod of a module, or None where proxy or checksum database do not know it."""
    answer = _run(
        go, ["mod", "download", "-json", f"{path}@{version}"], pins.MODULES, may_fail=True
    )
    found = json.loads(answer) if answer else {}
    return None if "Error" in found or "GoMod" not in found else Path(found["GoMod"])


def _run(go: Path, arguments: list[str], directory: Path, may_fail: bool = False) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    done = subprocess.run(
        [str(go), *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 and not may_fail:
        raise BuildError(f"go {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout
