"""A real Kubernetes, and the processes that run beside it: the operators of Intact and kubectl."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import aiohttp

import intact
from demo.errors import DemoError
from demo.stage import NODES, Json, Say
from devcluster import Cluster, DevclusterError
from devcluster.build import ensure_binaries
from devcluster.ports import LOOPBACK, Ports
from devcluster.process import end, last_lines, spawn
from devcluster.progress import silent
from intact.kube import config as kube_config
from intact.kube.client import Client
from intact.kube.http import HttpTransport

OPERATORS = 2
_READY_WITHIN = 60.0
_END_WITHIN = 15.0
_PAUSE = 0.05
_INSTALLED_IN = "default"
"""Outside a cluster Intact keeps its Lease and Secret in the kubeconfig's namespace."""
_DRAIN_WITHIN = 120
_ENDS_SLOWLY = {"devcluster.intact.dev/termination-delay": "500ms"}
_STARTS_SLOWLY = {"readinessProbe": {"tcpSocket": {"port": 8000}, "initialDelaySeconds": 1}}
_SOURCE = Path(intact.__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Child:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def lines(self) -> list[str]:
        """The complete lines of its log so far."""
        return self.log.read_text(errors="replace").rpartition("\n")[0].splitlines()

    def failure(self) -> str:
        return f"{self.name} ended with {self.process.returncode}:\n{last_lines(self.log)}"

    async def ended(self) -> int:
        while (code := self.process.poll()) is None:
            await asyncio.sleep(_PAUSE)
        return code

    async def done(self) -> None:
        if await self.ended() != 0:
            raise DemoError(self.failure())


class KubernetesStage:
    """Everything started here ends with the block, or with this process, even if that is killed.
    Its files are removed, unless something failed."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._ports = Ports()
        self._binaries = Path()
        self._directory = Path(tempfile.mkdtemp(prefix="intact-demo-"))
        self._cluster = Cluster(NODES, data_dir=self._directory / "cluster", report=silent)
        self._children: list[Child] = []
        self._operators: list[tuple[Child, int]] = []

    def __enter__(self) -> Self:
        try:
            self._binaries = ensure_binaries(self._say)
            self._say(f"starting Kubernetes with {NODES} nodes")
            self._cluster.open()
        except BaseException as error:
            self._close(type(error))
            if isinstance(error, DevclusterError):
                raise DemoError(str(error)) from error
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close(kind)

    def _close(self, kind: type[BaseException] | None) -> None:
        # Another Ctrl-C must not interrupt the cleaning up.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for child in self._children:
            child.process.terminate()
        for child in self._children:
            end(child.process, grace=2.0)
        self._cluster.close()
        self._ports.release()
        if kind is not None and not issubclass(kind, KeyboardInterrupt | SystemExit):
            self._say(f"the logs are kept in {self._directory}")
        else:
            shutil.rmtree(self._directory, ignore_errors=True)

    def cluster(self) -> Client:
        config = kube_config.load(str(self._cluster.kubeconfig))
        return Client(HttpTransport(config), field_manager="demo", on_warning=lambda _: None)

    def slowed(self, template: Json) -> Json:
        annotations = template["metadata"].get("annotations", {}) | _ENDS_SLOWLY
        containers = [each | _STARTS_SLOWLY for each in template["spec"]["containers"]]
        return {
            "metadata": template["metadata"] | {"annotations": annotations},
            "spec": template["spec"] | {"containers": containers},
        }

    def way_in(self) -> list[str]:
        return [
            f"export KUBECONFIG={self._cluster.kubeconfig} PATH={self._binaries}:$PATH",
            f"alias intact='env PYTHONPATH={_SOURCE} {sys.executable} -m intact.cli'",
        ]

    def drain(self, node: str) -> Child:
        kubectl = self._binaries / "kubectl"
        timeout = f"--timeout={_DRAIN_WITHIN}s"
        return self._spawn("drain", [kubectl, "drain", node, "--ignore-daemonsets", timeout])

    async def start_intact(self) -> None:
        """Start the operators behind one webhook address; return once all are ready."""
        self._say(f"starting {OPERATORS} operators of Intact")
        address = f"{LOOPBACK}:{self._ports.reserve()}"
        for number in range(1, OPERATORS + 1):
            port = self._ports.reserve()
            child = self._intact(
                *("run", "--install", "--webhook-bind", address),
                *("--http-bind", f"{LOOPBACK}:{port}"),
                name=f"intact-{number}",
            )
            self._operators.append((child, port))
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            for child, port in self._operators:
                await _ready(session, child, port)

    async def remove_intact(self) -> None:
        """End the operators with SIGTERM, as a kubelet does, then uninstall Intact."""
        for child, _ in self._operators:
            child.process.terminate()
        for child, _ in self._operators:
            await _succeeded(child)
        self._operators.clear()
        await _succeeded(
            self._intact("uninstall", "--yes", "--namespace", _INSTALLED_IN, name="uninstall")
        )

    async def undo(self, group: str, namespace: str) -> None:
        await _succeeded(self._intact("rbg", "undo", group, "-n", namespace, name="undo"))

    def intact_failure(self) -> str | None:
        """What to say if an operator ended although nothing asked it to."""
        ended = [child for child, _ in self._operators if child.process.poll() is not None]
        return ended[0].failure() if ended else None

    def _intact(self, *arguments: str, name: str) -> Child:
        return self._spawn(name, [sys.executable, "-m", "intact.cli", *arguments])

    def _spawn(self, name: str, command: Sequence[str | Path]) -> Child:
        log = self._directory / f"{len(self._children)}-{name}.log"
        environment = {**os.environ, "KUBECONFIG": str(self._cluster.kubeconfig)}
        child = Child(name, spawn(command, log, environment), log)
        self._children.append(child)
        return child


async def _succeeded(child: Child) -> None:
    try:
        async with asyncio.timeout(_END_WITHIN):
            code = await child.ended()
    except TimeoutError:
        end_of_log = last_lines(child.log)
        raise DemoError(
            f"{child.name} did not end within {_END_WITHIN:.0f} s:\n{end_of_log}"
        ) from None
    if code != 0:
        raise DemoError(child.failure())


async def _ready(session: aiohttp.ClientSession, child: Child, port: int) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    answer = "nothing"
    while time.monotonic() < deadline:
        if child.process.poll() is not None:
            raise DemoError(child.failure())
        try:
            async with session.get(f"http://{LOOPBACK}:{port}/readyz") as response:
                if response.status == 200:
                    return
                answer = await response.text()
        except aiohttp.ClientConnectionError:
            pass
        await asyncio.sleep(_PAUSE)
    raise DemoError(
        f"{child.name} is not ready after {_READY_WITHIN:.0f} s; /readyz: {answer}\n"
        f"{last_lines(child.log)}"
    )
