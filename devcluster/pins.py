"""The pinned modules, the binaries that are built from them, and where those are kept."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULES = Path(__file__).parent / "modules"


@dataclass(frozen=True)
class Binary:
    name: str
    module: str
    package: str


# The API server comes first: it compiles most of what the others share.
BINARIES = (
    *(
        Binary(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    ),
    Binary("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)


@cache
def _go_mod(module: str) -> str:
    return (MODULES / module / "go.mod").read_text()


def _find(pattern: str, module: str) -> str:
    found = re.search(pattern, _go_mod(module), re.MULTILINE)
    if found is None:
        raise ValueError(f"modules/{module}/go.mod has nothing like {pattern!r}")
    return found.group(1)


def required_version(module: str, dependency: str) -> str:
    """The version of `dependency` that the module's go.mod requires, as `v1.2.3`."""
    return _find(rf"^(?:require|\t)\s*{re.escape(dependency)} (v\S+)", module)


def go_version() -> tuple[int, ...]:
    """The oldest Go that can build every module."""
    return max(
        tuple(int(part) for part in _find(r"^go (\d+(?:\.\d+)+)$", module).split("."))
        for module in {binary.module for binary in BINARIES}
    )


@cache
def digest() -> str:
    """A short hash of the pinned modules: other pins give another directory."""
    found = hashlib.sha256()
    for module in sorted({binary.module for binary in BINARIES}):
        for name in ("go.mod", "go.sum"):
            found.update(f"{module}/{name}\0".encode())
            found.update((MODULES / module / name).read_bytes())
    return found.hexdigest()[:16]


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "intact-devcluster"


def binary_directory() -> Path:
    return cache_directory() / digest() / "bin"
