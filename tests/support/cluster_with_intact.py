"""A cluster with two replicas of Intact on it, shared by all tests of budgets in a run.

The replicas are processes without an event loop of the tests, since each test has its own. A test
may kill them: the next one finds two again.
"""

import functools
import os
import re
import signal
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from devcluster import process
from devcluster.cluster import Cluster
from devcluster.ports import Ports
from devcluster.waiting import wait_for

_STARTED = re.compile(r"serving http on (\S+)")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Replica:
    """`intact run`, with its log in a file."""

    def __init__(self, kubeconfig: Path, log: Path, *arguments: str) -> None:
        self._log = log
        command = [str(Path(sys.executable).with_name("intact")), "run"]
        command += ["--kubeconfig", str(kubeconfig), "--http-bind", "127.0.0.1:0", *arguments]
        self.process = process.spawn(command, log, os.environ)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str) -> str:
        found = _STARTED.search(self.log)
        assert found is not None, self.log
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
        assert self.process.poll() is None, self.log
        if not _STARTED.search(self.log):
            return False
        try:
            return self.get("/readyz").endswith("ready\n")
        except OSError:  # an HTTP error is one
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class ClusterWithIntact:
    def __init__(self, flags: Mapping[str, Sequence[str]] | None = None) -> None:
        """`flags` are those of the cluster's components."""
        self.cluster = Cluster(nodes=3, flags=flags)
        self.replicas: list[Replica] = []
        self._ports = Ports()
        self._started = 0

    def open(self) -> None:
        self.cluster.open()
        self.bind = f"127.0.0.1:{self._ports.reserve()}"

    def close(self, *, failed: bool) -> None:
        self.stop()
        self.cluster.close(failed=failed)
        self._ports.release()

    def start(self, log: Path) -> Replica:
        arguments = ("--install", "--webhook-bind", self.bind)
        return Replica(self.cluster.kubeconfig, log, *arguments)

    def restore(self) -> None:
        """Two replicas that are ready, one of which leads."""
        self.replicas = [each for each in self.replicas if each.process.poll() is None]
        while len(self.replicas) < 2:
            self._started += 1
            self.replicas.append(self.start(self.cluster.logs / f"intact-{self._started}.log"))
        wait_for(lambda: all(each.is_ready() for each in self.replicas), "both to be ready")
        wait_for(lambda: any(each.leads() for each in self.replicas), "one of them to lead")

    def stop(self) -> None:
        """End all replicas as a cluster does, and see that they end well."""
        alive = [each.process for each in self.replicas if each.process.poll() is None]
        for each in alive:
            each.send_signal(signal.SIGTERM)
        assert [each.wait(60) for each in alive] == [0] * len(alive)

    def leader(self) -> Replica:
        return self._by_rank()[0]

    def follower(self) -> Replica:
        return self._by_rank()[1]

    def _by_rank(self) -> tuple[Replica, Replica]:
        """The one of both that leads, and the other: as soon as one does, for a leader that was not
        let run for a while leads no more."""

        def look() -> tuple[Replica, Replica] | None:
            one, two = self.replicas
            return {(True, False): (one, two), (False, True): (two, one)}.get(
                (one.leads(), two.leads())
            )

        return wait_for(look, "one of two to lead")

    def metrics(self) -> dict[str, float]:
        """Of all replicas together."""
        total: dict[str, float] = {}
        for replica in self.replicas:
            for name, value in replica.metrics().items():
                total[name] = total.get(name, 0) + value
        return total


@functools.cache
def _started(session: pytest.Session) -> ClusterWithIntact:
    house = ClusterWithIntact()
    house.open()
    session.addfinalizer(lambda: house.close(failed=session.testsfailed > 0))
    return house


def shared_house(request: pytest.FixtureRequest) -> ClusterWithIntact:
    """To be made a fixture by each module that uses it: all get the same."""
    house = _started(request.session)
    house.restore()
    return house
