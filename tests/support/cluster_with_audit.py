"""A cluster whose API server keeps an audit log, and whose operators log JSON."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from devcluster.operator_process import OperatorProcess
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.objects import Json

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
        },
        {"level": "None"},
    ],
}


class ClusterWithAudit(ClusterWithIntact):
    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="intact-audit-"))
        self._audit = self._directory / "audit.log"
        policy = self._directory / "policy.yaml"
        policy.write_bytes(msgspec.yaml.encode(_POLICY))
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={self._audit}"]
        super().__init__({"kube-apiserver": flags})

    def close(self, *, failed: bool) -> None:
        super().close(failed=failed)
        shutil.rmtree(self._directory)

    def start(self, log: Path) -> OperatorProcess:
        options = ("--install", f"--webhook-bind={self.bind}", "--log-format=json")
        return OperatorProcess(self.cluster.kubeconfig, log, *options)

    def requests(self) -> Iterator[Json]:
        """All writing requests so far, from the audit log."""
        for line in self._audit.read_bytes().splitlines():
            yield msgspec.json.decode(line)
