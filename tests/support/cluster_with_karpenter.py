"""A cluster with two operators and Karpenter, whose provider makes nodes for kwok."""

import os
import subprocess
import urllib.request
from pathlib import Path

import yaml

from devcluster import process
from devcluster.api import Api
from devcluster.build import ensure_binaries, source_directory
from devcluster.errors import ApiError, ComponentError
from devcluster.pins import KARPENTER
from devcluster.ports import LOOPBACK, Ports
from devcluster.waiting import wait_for
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.objects import Json

NODE_CLASS = "default"
_CRDS = ("pkg/apis/crds", "kwok/apis/crds")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ClusterWithKarpenter(ClusterWithIntact):
    """Karpenter has the rights of an admin; it sees the nodes that it made, and no other."""

    def __init__(self) -> None:
        super().__init__()
        self._karpenter: subprocess.Popen[bytes] | None = None
        self._karpenter_ports = Ports()

    @property
    def karpenter_log(self) -> Path:
        return self.cluster.logs / "karpenter.log"

    def open(self) -> None:
        super().open()
        _define(self.cluster.api)
        self._start()

    def close(self, *, failed: bool) -> None:
        if self._karpenter is not None:
            process.end(self._karpenter, grace=10)
        self._karpenter_ports.release()
        super().close(failed=failed)

    def restore(self) -> None:
        super().restore()
        wait_for(self._is_ready, "Karpenter to be ready", timeout=120)

    def karpenter_metric(self, series: str) -> float | None:
        """The value of a series, if Karpenter has it."""
        with _OPENER.open(f"http://{LOOPBACK}:{self._metrics}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        found = [line.rpartition(" ")[2] for line in lines if line.startswith(f"{series} ")]
        return float(found[0]) if found else None

    def _start(self) -> None:
        self._health = self._karpenter_ports.reserve()
        self._metrics = self._karpenter_ports.reserve()
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.cluster.data_dir),
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "SYSTEM_NAMESPACE": "default",
            "DISABLE_LEADER_ELECTION": "true",
            "METRICS_PORT": str(self._metrics),
            "HEALTH_PROBE_PORT": str(self._health),
            "LOG_LEVEL": "debug",
        }
        binary = ensure_binaries(toolset=KARPENTER) / "karpenter"
        self._karpenter = process.spawn([binary], self.karpenter_log, environment)

    def _is_ready(self) -> bool:
        assert self._karpenter is not None
        if self._karpenter.poll() is not None:
            raise ComponentError(f"Karpenter ended: {process.last_lines(self.karpenter_log)}")
        try:
            with _OPENER.open(f"http://{LOOPBACK}:{self._health}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except OSError:  # an HTTP error is one
            return False


def _define(api: Api) -> None:
    """Create Karpenter's CRDs, from its own source, and the class of all nodes."""
    source = source_directory(KARPENTER, "sigs.k8s.io/karpenter")
    files = [file for each in _CRDS for file in sorted((source / each).glob("*.yaml"))]
    assert files, f"no CRDs in {source}"
    for file in files:
        api.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            yaml.safe_load(file.read_text()),
        )
    path = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
    body: Json = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": NODE_CLASS},
        "spec": {},
    }

    def created() -> bool:
        try:
            api.create(path, body)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True

    wait_for(created, "KWOKNodeClasses to be served")
