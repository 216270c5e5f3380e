"""A cluster that outlives the command that started it: a detached process, the keeper, runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from devcluster.cluster import READY_SECONDS, Cluster
from devcluster.datadir import STATE, in_use, mark
from devcluster.errors import DevclusterError, NotRunningError
from devcluster.process import alive, last_lines
from devcluster.waiting import wait_for

LOG = "keeper.log"
_END_SECONDS = 30
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class State:
    """What the keeper writes to a file once its cluster is ready."""

    keeper: int
    version: str
    components: dict[str, int]
    server: str
    etcd: str
    kubeconfig: str


def keep(
    directory: Path,
    nodes: int,
    flags: Mapping[str, Sequence[str]],
    without: Sequence[str],
    version: str | None = None,
) -> None:
    """Run a cluster until a signal ends it. This is the keeper's side."""
    # Signals are handled and not blocked: the components would inherit a block.
    for each in _ENDING:
        signal.signal(each, _end)
    with Cluster(nodes, flags, directory, without, version=version) as cluster:
        state = State(
            keeper=os.getpid(),
            version=cluster.version,
            components=cluster.pids(),
            server=cluster.server,
            etcd=cluster.etcd,
            kubeconfig=str(cluster.kubeconfig),
        )
        unfinished = directory / f"{STATE}.unfinished"
        unfinished.write_text(json.dumps(asdict(state), indent=2))
        unfinished.replace(directory / STATE)
        with suppress(_Ended):
            while True:
                signal.pause()


class _Ended(BaseException):
    """A signal asked the keeper to end."""


def _end(_number: int, _frame: object) -> None:
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise _Ended


def start(
    directory: Path,
    nodes: int,
    flags: Mapping[str, Sequence[str]],
    without: Sequence[str],
    version: str,
) -> State:
    """Start a keeper and wait until its cluster is ready."""
    command = [sys.executable, "-m", "devcluster", "keep", f"--data-dir={directory}"]
    command += [
        f"--version={version}",
        f"--nodes={nodes}",
        *(f"--without={each}" for each in without),
    ]
    for component, values in flags.items():
        command += [f"--{component.removeprefix('kube-')}-flag={value}" for value in values]
    package_home = str(Path(__file__).parent.parent)
    path = [package_home, *filter(None, [os.environ.get("PYTHONPATH")])]
    mark(directory)
    log = directory / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def ready() -> State | None:
        code = process.poll()
        if code is not None:
            raise DevclusterError(f"the cluster did not start:\n{last_lines(log, 60)}")
        state = _read(directory)
        return state if state is not None and state.keeper == process.pid else None

    try:
        return wait_for(ready, "the cluster to be ready", timeout=2 * READY_SECONDS)
    except BaseException:
        process.terminate()
        raise


def find(directory: Path) -> State:
    """The state of the running cluster in `directory`."""
    state = _read(directory)
    if state is None or not in_use(directory) or not alive(state.keeper):
        raise NotRunningError(f"no cluster is running in {directory}")
    return state


def stop(directory: Path) -> None:
    """End the cluster in `directory`, and wait until all its processes have ended."""
    state = find(directory)
    os.kill(state.keeper, signal.SIGTERM)
    wait_for(
        lambda: not in_use(directory) and not alive(state.keeper),
        f"the keeper (pid {state.keeper}) to end its cluster",
        timeout=_END_SECONDS,
    )


def _read(directory: Path) -> State | None:
    try:
        return State(**json.loads((directory / STATE).read_text()))
    except FileNotFoundError:
        return None
