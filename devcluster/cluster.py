"""A Kubernetes cluster on loopback: start, stop, and everything between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from devcluster import nodes, pins, process
from devcluster.api import Api
from devcluster.build import ensure_cluster
from devcluster.components import (
    APISERVER,
    COMPONENTS,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    KWOK_USER,
    SCHEDULER,
    Layout,
    command,
    lay_out,
)
from devcluster.datadir import DataDirectory
from devcluster.errors import ApiError, ComponentError, DeadlineError, DevclusterError
from devcluster.etcd import Etcd
from devcluster.guard import create_guard
from devcluster.health import healthy
from devcluster.ports import Ports
from devcluster.progress import Report, to_stderr
from devcluster.waiting import wait_for

READY_SECONDS = 60


class Cluster:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.

    `flags` are extra flags by component; `without` names components that are not started.
    Nodes are created only if kwok runs. `version` is the minor version of the servers, as `1.33`;
    without it the environment variable DEVCLUSTER_VERSION says it, else it is the newest.
    A given `data_dir` is kept; a temporary one is removed at the end, unless the block raised or
    `keep` was set.
    """

    def __init__(
        self,
        nodes: int = 3,
        flags: Mapping[str, Sequence[str]] | None = None,
        data_dir: Path | str | None = None,
        without: Iterable[str] = (),
        report: Report = to_stderr,
        version: str | None = None,
    ) -> None:
        self.version = pins.chosen_version(version)
        self.nodes = nodes
        self.flags = {component: list(values) for component, values in (flags or {}).items()}
        self.without = frozenset(without)
        unknown = (self.without | self.flags.keys()) - set(COMPONENTS)
        if unknown:
            raise DevclusterError(
                f"no such component: {', '.join(sorted(unknown))} (there are: "
                f"{', '.join(COMPONENTS)})"
            )
        if self.without & {ETCD, APISERVER}:
            raise DevclusterError(f"a cluster needs {ETCD} and {APISERVER}")
        self.keep = data_dir is not None
        self._wanted_directory = None if data_dir is None else Path(data_dir).absolute()
        self._report = report
        self._ports = Ports()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._data: DataDirectory | None = None
        self._layout: Layout | None = None
        self._binaries: dict[str, Path] = {}

    @property
    def data_dir(self) -> Path:
        return self.layout.directory

    @property
    def layout(self) -> Layout:
        if self._layout is None:
            raise DevclusterError("the cluster has not been started")
        return self._layout

    @property
    def kubeconfig(self) -> Path:
        return self.layout.kubeconfig

    @property
    def kubectl(self) -> Path:
        return (self._binaries or ensure_cluster(self.version, self._report))["kubectl"]

    @property
    def server(self) -> str:
        return self.layout.server

    @property
    def etcd(self) -> str:
        return self.layout.etcd

    @property
    def logs(self) -> Path:
        return self.layout.logs

    @property
    def api(self) -> Api:
        return Api(self.server, self.layout.ca.certificate, self.layout.admin)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None)

    def open(self) -> None:
        """Start everything and wait until it is ready."""
        self._binaries = ensure_cluster(self.version, self._report)
        directory = self._wanted_directory
        if directory is None:
            directory = Path(tempfile.mkdtemp(prefix="devcluster-"))
        data = DataDirectory(directory)
        data.claim()
        self._data = data
        try:
            self._layout = lay_out(self.version, directory, self._ports)
            # Not all at once: the others exit if these two do not answer yet.
            for component in (ETCD, APISERVER):
                self.start(component)
                self._wait_healthy(component, READY_SECONDS)
            if KWOK not in self.without:
                create_guard(self.api, KWOK_USER)
                nodes.create_nodes(self.api, self.nodes)
            for component in (CONTROLLER_MANAGER, SCHEDULER, KWOK):
                if component not in self.without:
                    self.start(component)
            self.wait_ready()
        except BaseException:
            self.close(failed=True)
            raise

    def close(self, failed: bool = False) -> None:
        """End all components; with `failed`, keep the logs and say where they are."""
        for component in reversed(self._processes):
            self._processes[component].terminate()
        for component in reversed(list(self._processes)):
            # There is nothing to save, and kube-apiserver would hold its port for a minute.
            process.end(self._processes.pop(component), grace=0.2)
        self._ports.release()
        if self._data is None:
            return
        self._data.release()
        if failed:
            self._report(f"the logs are kept in {self._data.path / 'logs'}")
        elif not self.keep:
            shutil.rmtree(self._data.path)
        self._data = None

    def start(self, component: str) -> None:
        """Start a component; `wait_ready` waits until it is healthy."""
        if component not in COMPONENTS:
            raise DevclusterError(f"no such component: {component}")
        running = self._processes.get(component)
        if running is not None and running.poll() is None:
            raise DevclusterError(f"{component} is running already (pid {running.pid})")
        if self._data is None:
            raise DevclusterError("the cluster has not been started")
        self._processes[component] = process.spawn(
            command(
                component, self._binaries[component], self.layout, self.flags.get(component, [])
            ),
            log=self.log(component),
            # A home of its own: kwok and others read configuration from the home directory.
            env={"HOME": str(self.data_dir), "PATH": os.defpath},
            keep_open=[self._data.lock_fd],
        )

    def stop(self, component: str, sig: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a component and wait until it has ended."""
        stopped = self._process(component)
        stopped.send_signal(sig)
        stopped.wait()
        del self._processes[component]

    def restart(self, component: str, sig: signal.Signals = signal.SIGKILL) -> None:
        """Stop a component, start it on the same port, and wait until all components are ready."""
        self.stop(component, sig)
        self.start(component)
        self.wait_ready()

    def pid(self, component: str) -> int:
        return self._process(component).pid

    def pids(self) -> dict[str, int]:
        return {component: each.pid for component, each in self._processes.items()}

    def log(self, component: str) -> Path:
        return self.logs / f"{component}.log"

    def compact(self) -> int:
        """Compact etcd to its current revision; that revision."""
        return Etcd(self.etcd).compact()

    def back_up(self) -> Path:
        """Copy what etcd has stored; for `set_back`."""
        copy = self.data_dir / f"etcd-backup-{Etcd(self.etcd).revision()}"
        running = self._process(ETCD)
        # Stopped, its files are as after a loss of power, which etcd is made to survive.
        running.send_signal(signal.SIGSTOP)
        try:
            shutil.copytree(self.data_dir / "etcd", copy)
        finally:
            running.send_signal(signal.SIGCONT)
        return copy

    def set_back(self, backup: Path) -> None:
        """Restore etcd from a backup: the versions of all objects go back. All components are
        restarted, as Kubernetes asks for after a restore."""
        running = [component for component in COMPONENTS if component in self._processes]
        for component in reversed(running):
            self.stop(component)
        shutil.rmtree(self.data_dir / "etcd")
        shutil.copytree(backup, self.data_dir / "etcd")
        for component in running:
            self.start(component)
            if component in (ETCD, APISERVER):
                self._wait_healthy(component, READY_SECONDS)
        self.wait_ready()

    def wait_ready(self, timeout: float = READY_SECONDS) -> None:
        """Wait until every started component is healthy and pods can be created and run."""
        for component in list(self._processes):
            self._wait_healthy(component, timeout)
        if CONTROLLER_MANAGER in self._processes:
            self._wait(self._default_account, "the default ServiceAccount", timeout)
        if KWOK in self._processes:
            self._wait(self._nodes_ready, "the nodes to be Ready", timeout)

    def _process(self, component: str) -> subprocess.Popen[bytes]:
        if component not in self._processes:
            raise DevclusterError(f"{component} is not running")
        return self._processes[component]

    def _wait_healthy(self, component: str, timeout: float) -> None:
        try:
            self._wait(
                partial(healthy, component, self.layout), f"{component} to be healthy", timeout
            )
        except DeadlineError as error:
            raise ComponentError(f"{error}; {self._log_end(component)}") from None

    def _wait(self, condition: Callable[[], bool], what: str, timeout: float) -> None:
        """Poll a condition; fail at once if a component ends."""

        def met() -> bool:
            for component, each in self._processes.items():
                if each.poll() is not None:
                    raise ComponentError(
                        f"{component} ended with exit code {each.returncode}; "
                        f"{self._log_end(component)}"
                    )
            return condition()

        wait_for(met, what, timeout)

    def _log_end(self, component: str) -> str:
        log = self.log(component)
        return f"the end of {log}:\n{process.last_lines(log)}"

    def _default_account(self) -> bool:
        try:
            self.api.get("/api/v1/namespaces/default/serviceaccounts/default")
        except (ApiError, OSError):
            return False
        return True

    def _nodes_ready(self) -> bool:
        try:
            found = nodes.list_nodes(self.api)
        except (ApiError, OSError):
            return False
        untainted = CONTROLLER_MANAGER in self._processes
        return all(
            nodes.is_ready(node) and (nodes.is_untainted(node) or not untainted) for node in found
        )
