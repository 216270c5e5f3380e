"""`intact run` in an unpacked image, in a pod whose network is the machine's loopback."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devcluster import process
from devcluster.operator_process import OperatorProcess
from tests.support.contained import contained

SECRETS = "run/secrets/kubernetes.io/serviceaccount"
"""Where a kubelet mounts the token of a pod's account."""
NETWORK = ("--http-bind=", "--webhook-bind=", "--webhook-service=")
"""What the manifests say about addresses, which are others on loopback."""


class IntactInImage(OperatorProcess):
    def __init__(
        self,
        root: Path,
        container: Mapping[str, Any],
        log: Path,
        environment: Mapping[str, str],
        options: Sequence[str],
        mounts: Mapping[str, Path] | None = None,
    ) -> None:
        """`container` is the one of the manifests."""
        arguments = [each for each in container["args"] if not each.startswith(NETWORK)]
        arguments += ["--http-bind=127.0.0.1:0", *options]
        user = container["securityContext"]["runAsUser"]
        command = contained(root, user, *container["command"], *arguments, mounts=mounts)
        self._log = log
        self.process = process.spawn(command, log, environment)

    @property
    def pid(self) -> int:
        """Of Intact itself, the first process of its namespace."""
        parent = self.process.pid
        [child] = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return int(child)
