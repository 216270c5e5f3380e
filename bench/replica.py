"""`intact run` beside a cluster of the benchmark, and what it says about itself."""

import os
import re
import sys
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.child import BenchError
from bench.usage import Usage, usage
from devcluster import process
from devcluster.cluster import Cluster
from devcluster.waiting import wait_for

_STARTED = re.compile(r"serving http on (\S+)")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def with_gate(bind: str) -> tuple[str, ...]:
    """The options of a replica that answers admission reviews."""
    return ("--install", "--controllers=pub", f"--webhook-bind={bind}")


class Replica:
    """Ended on leaving the block, and with the benchmark, however that ends."""

    def __init__(self, cluster: Cluster, name: str, *options: str) -> None:
        self._log = cluster.logs / f"{name}.log"
        self._process = process.spawn(
            [
                Path(sys.executable).with_name("intact"),
                "run",
                f"--kubeconfig={cluster.kubeconfig}",
                "--http-bind=127.0.0.1:0",
                *options,
            ],
            log=self._log,
            env={k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process.end(self._process, grace=5)

    def wait_ready(self) -> None:
        wait_for(self._is_ready, "intact run to be ready", timeout=120)

    def usage(self) -> Usage:
        return usage(self._process.pid)

    def metrics(self) -> dict[str, float]:
        """Each series with its value."""
        lines = [line for line in self._get("/metrics").splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def _is_ready(self) -> bool:
        if self._process.poll() is not None:
            raise BenchError(f"intact run ended: {process.last_lines(self._log)}")
        try:
            return self._get("/readyz").endswith("ready\n")
        except (OSError, LookupError):  # not yet listening, or not yet ready
            return False

    def _get(self, path: str) -> str:
        found = _STARTED.search(self._log.read_text())
        if found is None:
            raise LookupError(f"{self._log} does not say where it listens")
        with _OPENER.open(f"http://{found[1]}{path}", timeout=10) as answer:
            text: bytes = answer.read()
        return text.decode()
