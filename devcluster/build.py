"""Builds the binaries once, from the pinned modules, into the user's cache."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections import deque
from pathlib import Path

from devcluster import pins
from devcluster.errors import BuildError
from devcluster.locks import FileLock
from devcluster.pins import CLUSTER, Binary, Toolset
from devcluster.progress import Report, to_stderr
from devcluster.toolchain import find_go

ALIVE_SECONDS = 15


def ensure_binaries(report: Report = to_stderr, toolset: Toolset = CLUSTER) -> Path:
    """The directory with all binaries of the set; those that are missing are built first."""
    directory = pins.binary_directory(toolset)
    if not _missing(toolset, directory):
        return directory
    lock = FileLock(directory.parent / "build.lock")
    if not lock.acquire(wait=False):
        report("another process is building; waiting for it")
        lock.acquire()
    try:
        missing = _missing(toolset, directory)
        if missing:
            _build_all(find_go(toolset, report), missing, directory, report)
    finally:
        lock.release()
    return directory


def ensure_cluster(version: str, report: Report = to_stderr) -> dict[str, Path]:
    """Where each binary of a cluster of this minor version is; what is missing is built first.

    Only the servers are of that version: kubectl, etcd and kwok are those of the newest."""
    directory = ensure_binaries(report)
    found = {binary.name: directory / binary.name for binary in CLUSTER.binaries}
    servers = pins.servers_of(version)
    if servers is not None:
        directory = ensure_binaries(report, servers)
        found |= {binary.name: directory / binary.name for binary in servers.binaries}
    return found


def _missing(toolset: Toolset, directory: Path) -> list[Binary]:
    return [binary for binary in toolset.binaries if not (directory / binary.name).exists()]


def _build_all(go: Path, missing: list[Binary], directory: Path, report: Report) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    report(f"building {len(missing)} binaries into {directory} (once; takes some minutes)")
    started = time.monotonic()
    for binary in missing:
        _build(go, binary, directory, report)
    report(f"built in {time.monotonic() - started:.0f} s")


def _build(go: Path, binary: Binary, directory: Path, report: Report) -> None:
    unfinished = directory / f".{binary.name}.unfinished"
    command = [
        *(str(go), "build", "-v", "-trimpath", "-buildvcs=false"),
        *("-tags", ",".join(binary.tags)),
        *("-ldflags", _linker_flags(binary), "-o", str(unfinished), binary.package),
    ]
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=pins.MODULES / binary.module,
        env=_environment(go),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    output = _Output(process)
    try:
        while output.unfinished(ALIVE_SECONDS):
            seconds = time.monotonic() - started
            report(f"  {binary.name}: {output.lines} packages so far, {seconds:.0f} s")
        code = process.wait()
        if code != 0:
            raise BuildError(f"{' '.join(command)}: exit code {code}\n" + "".join(output.last))
        unfinished.replace(directory / binary.name)
    finally:
        process.kill()
        process.wait()
        output.unfinished(None)
        unfinished.unlink(missing_ok=True)
    report(f"  {binary.name}: done after {time.monotonic() - started:.0f} s")


class _Output:
    """Reads the output of `go build -v`, one line for each package, and keeps the last lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines = 0
        self.last: deque[str] = deque(maxlen=40)
        self._thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._thread.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as stream:
            for line in stream:
                self.lines += not line.startswith("go: ")
                self.last.append(line)

    def unfinished(self, seconds: float | None) -> bool:
        """Wait so long for the end of the output; whether it goes on."""
        self._thread.join(seconds)
        return self._thread.is_alive()


def _environment(go: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("GOOS", "GOARCH", "GOROOT")}
    return {
        **kept,
        "PATH": f"{go.parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _linker_flags(binary: Binary) -> str:
    flags = ["-s", "-w"]
    if binary.package.startswith(pins.KUBERNETES):
        version = pins.kubernetes_version(binary.module)
        major, minor, _ = version.removeprefix("v").split(".", 2)
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
            flags += [
                *("-X", f"{package}.gitVersion={version}"),
                *("-X", f"{package}.gitMajor={major}"),
                *("-X", f"{package}.gitMinor={minor}"),
            ]
    if binary.module == "helm":
        # As its own Makefile: the Kubernetes that helm takes a cluster for where it asks none.
        _, minor, _ = pins.required_version("helm", "k8s.io/client-go").split(".", 2)
        flags += [
            *("-X", "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1"),
            *("-X", f"helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor={minor}"),
        ]
    return " ".join(flags)


def source_directory(toolset: Toolset, path: str, report: Report = to_stderr) -> Path:
    """Where Go keeps the source of a module that the set is built from, in the pinned version; it
    is downloaded if it is missing."""
    [module] = toolset.modules
    with FileLock(pins.binary_directory(toolset).parent / "build.lock"):
        go = find_go(toolset, report)
    command = [str(go), "mod", "download", "-json", path]
    ran = subprocess.run(
        command,
        cwd=pins.MODULES / module,
        env=_environment(go),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(ran.stdout or "{}")
    if "Dir" not in found:
        raise BuildError(f"{' '.join(command)}: {found.get('Error') or ran.stderr}")
    return Path(found["Dir"])
