"""The pinned modules, the sets of binaries that are built from them, and where those are kept.

`modules/kubernetes` holds the version that everything is developed on, with the tools of a cluster;
`modules/kubernetes-1.33` and its like hold only the servers of an older one (see `pinning`)."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from devcluster.errors import DevclusterError

MODULES = Path(__file__).parent / "modules"
KUBERNETES = "k8s.io/kubernetes"


@dataclass(frozen=True)
class Binary:
    name: str
    module: str
    package: str
    tags: tuple[str, ...] = ()
    """Build constraints of Go that hold in this build."""


@dataclass(frozen=True)
class Toolset:
    """Binaries that are built together and kept in one directory."""

    binaries: tuple[Binary, ...]

    @property
    def modules(self) -> list[str]:
        return sorted({binary.module for binary in self.binaries})


# The API server comes first: it compiles most of what the others share.
SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
CLUSTER = Toolset(
    (
        *(Binary(name, "kubernetes", f"{KUBERNETES}/cmd/{name}") for name in (*SERVERS, "kubectl")),
        Binary("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
        Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    )
)
VERSION_VARIABLE = "DEVCLUSTER_VERSION"

# Without its service discoveries, and so without the clients of a dozen clouds.
PROMETHEUS = Toolset(
    tuple(
        Binary(
            name,
            "prometheus",
            f"github.com/prometheus/prometheus/cmd/{name}",
            tags=("netgo", "remove_all_sd"),
        )
        for name in ("promtool", "prometheus")
    )
)

HELM = Toolset((Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm"),))

# With the provider whose nodes kwok plays.
KARPENTER = Toolset((Binary("karpenter", "karpenter", "sigs.k8s.io/karpenter/kwok"),))


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


def newest() -> str:
    """The minor version that everything is developed on, as `1.36`."""
    return _minor(CLUSTER.binaries[0].module)


def versions() -> list[str]:
    """All minor versions, the oldest first."""
    others = [_minor(found.parent.name) for found in MODULES.glob("kubernetes-*/go.mod")]
    return sorted([*others, newest()], key=as_numbers)


def chosen_version(version: str | None = None) -> str:
    """The given minor version, else that of the environment variable, else the newest."""
    found = version or os.environ.get(VERSION_VARIABLE) or newest()
    if found not in versions():
        raise DevclusterError(
            f"no modules are pinned for Kubernetes {found!r} (there are: {', '.join(versions())})"
        )
    return found


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def module_of(minor: str) -> str:
    return f"kubernetes-{minor}"


def patch_of(minor: str) -> str:
    """The release of a minor version that is pinned, as `v1.33.13`."""
    return kubernetes_version(CLUSTER.binaries[0].module if minor == newest() else module_of(minor))


def servers_of(minor: str) -> Toolset | None:
    """The servers of a version whose other binaries are those of `CLUSTER`; None for its own."""
    if minor == newest():
        return None
    module = module_of(minor)
    return Toolset(tuple(Binary(name, module, f"{KUBERNETES}/cmd/{name}") for name in SERVERS))


def _minor(module: str) -> str:
    return ".".join(kubernetes_version(module).removeprefix("v").split(".")[:2])


def kubernetes_version(module: str) -> str:
    return required_version(module, KUBERNETES)


def go_version(toolset: Toolset) -> tuple[int, ...]:
    """The oldest Go that can build every module of the set."""
    return max(
        tuple(int(part) for part in _find(r"^go (\d+(?:\.\d+)+)$", module).split("."))
        for module in toolset.modules
    )


@cache
def digest(toolset: Toolset) -> str:
    """A short hash of what is built: other pins or tags give another directory."""
    found = hashlib.sha256()
    for binary in toolset.binaries:
        if binary.tags:
            found.update(f"{binary.name} {','.join(binary.tags)}\0".encode())
    for module in toolset.modules:
        for name in ("go.mod", "go.sum"):
            found.update(f"{module}/{name}\0".encode())
            found.update((MODULES / module / name).read_bytes())
    return found.hexdigest()[:16]


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "intact-devcluster"


def binary_directory(toolset: Toolset = CLUSTER) -> Path:
    return cache_directory() / digest(toolset) / "bin"
