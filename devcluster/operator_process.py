"""`intact run` beside a cluster: one operator process, with its log in a file."""

from __future__ import annotations

import os
import re
import sys
import urllib.request
from pathlib import Path
from typing import Self

from devcluster import process
from devcluster.errors import ComponentError
from devcluster.waiting import wait_for

_LISTENING = re.compile(r'serving http on ([^\s"]+)')
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class OperatorProcess:
    """Ends with the block, and with the process that started it, however that ends."""

    def __init__(
        self, kubeconfig: Path, log: Path, *options: str, source: Path | None = None
    ) -> None:
        """`source` holds the package of another version of Intact."""
        self._log = log
        # The API server is on loopback, where no proxy leads.
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        if source is not None:
            environment["PYTHONPATH"] = str(source)
        self.process = process.spawn(
            [
                Path(sys.executable).with_name("intact"),
                "run",
                f"--kubeconfig={kubeconfig}",
                "--http-bind=127.0.0.1:0",
                *options,
            ],
            log,
            environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        process.end(self.process, grace=5)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str) -> str:
        """Raises OSError while it does not listen yet, or answers with an error."""
        found = _LISTENING.search(self.log)
        if found is None:
            raise ConnectionError(f"{self._log} does not name an address yet")
        with _OPENER.open(f"http://{found[1]}{path}", timeout=10) as answer:
            text: bytes = answer.read()
        return text.decode()

    def metrics(self) -> dict[str, float]:
        """Each series with its value."""
        lines = [line for line in self.get("/metrics").splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def leads(self) -> bool:
        return self.metrics()["intact_leader"] == 1

    def is_ready(self) -> bool:
        if self.process.poll() is not None:
            raise ComponentError(f"intact run ended: {process.last_lines(self._log)}")
        try:
            return self.get("/readyz").endswith("ready\n")
        except OSError:  # an HTTP error is one
            return False

    def wait_ready(self) -> None:
        wait_for(self.is_ready, "intact run to be ready", timeout=120)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
