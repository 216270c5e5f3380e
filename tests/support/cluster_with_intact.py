"""A cluster with two operator processes, shared by all tests of a run that ask for its kind.

The operators are processes and not tasks, because each test has an event loop of its own. A test
may kill them: the next test finds two again.
"""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from devcluster.cluster import Cluster
from devcluster.components import APISERVER
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from devcluster.waiting import wait_for
from tests.support import resizes


class ClusterWithIntact:
    def __init__(self, flags: Mapping[str, Sequence[str]] | None = None) -> None:
        """`flags` are those of the cluster's components."""
        apiserver = (*resizes.APISERVER_FLAGS, *(flags or {}).get(APISERVER, ()))
        self.cluster = Cluster(nodes=3, flags={**(flags or {}), APISERVER: apiserver})
        self.operators: list[OperatorProcess] = []
        self._ports = Ports()
        self._started = 0

    def open(self) -> None:
        self.cluster.open()
        self.bind = f"127.0.0.1:{self._ports.reserve()}"

    def close(self, *, failed: bool) -> None:
        self.stop()
        self.cluster.close(failed=failed)
        self._ports.release()

    def start(self, log: Path) -> OperatorProcess:
        options = ("--install", f"--webhook-bind={self.bind}")
        return OperatorProcess(self.cluster.kubeconfig, log, *options)

    def restore(self) -> None:
        """Return once two operators are ready and one of them leads; start those that are gone."""
        self.start_missing()
        self.wait_until_whole()

    def start_missing(self) -> None:
        self.operators = [each for each in self.operators if each.process.poll() is None]
        while len(self.operators) < 2:
            self._started += 1
            self.operators.append(self.start(self.cluster.logs / f"intact-{self._started}.log"))

    def wait_until_whole(self) -> None:
        wait_for(lambda: all(each.is_ready() for each in self.operators), "both to be ready")
        wait_for(lambda: any(each.leads() for each in self.operators), "one of them to lead")

    def stop(self) -> None:
        """End all operators with SIGTERM, as a kubelet does; each must exit with 0."""
        alive = [each.process for each in self.operators if each.process.poll() is None]
        for each in alive:
            each.send_signal(signal.SIGTERM)
        assert [each.wait(60) for each in alive] == [0] * len(alive)

    def leader(self) -> OperatorProcess:
        return self._by_rank()[0]

    def follower(self) -> OperatorProcess:
        return self._by_rank()[1]

    def _by_rank(self) -> tuple[OperatorProcess, OperatorProcess]:
        """The operator that leads, and the other. A leader that got no CPU time for a while has
        lost its lease: then this waits for the next one."""

        def look() -> tuple[OperatorProcess, OperatorProcess] | None:
            one, two = self.operators
            return {(True, False): (one, two), (False, True): (two, one)}.get(
                (one.leads(), two.leads())
            )

        return wait_for(look, "one of two to lead")

    def metrics(self) -> dict[str, float]:
        """Of both operators together."""
        total: dict[str, float] = {}
        for operator in self.operators:
            for name, value in operator.metrics().items():
                total[name] = total.get(name, 0) + value
        return total


Kind = TypeVar("Kind", bound=ClusterWithIntact)
_OPENED = pytest.StashKey[dict[type[ClusterWithIntact], ClusterWithIntact]]()


def shared_cluster(request: pytest.FixtureRequest, kind: type[Kind]) -> Kind:
    """The one cluster of this kind in a run, with both operators running."""
    session = request.session
    opened = session.stash.setdefault(_OPENED, {})
    if kind not in opened:
        made = kind()
        made.open()
        opened[kind] = made
        session.addfinalizer(lambda: made.close(failed=session.testsfailed > 0))
    found = opened[kind]
    assert isinstance(found, kind)
    found.restore()
    return found
