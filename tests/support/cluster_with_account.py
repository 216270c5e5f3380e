"""A cluster whose two operators have exactly the rights that `intact manifests` gives them.

They run with a token of the manifests' ServiceAccount: all controllers, or those that are named.
The API server logs every request of that account, and enforces the permissions on owner references.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from devcluster.cluster import Cluster
from devcluster.operator_process import OperatorProcess
from devcluster.waiting import wait_for
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.objects import Json
from tests.support.pdb_groups import APISERVER_FLAGS

HOME = "intact-system"
CONTROLLERS = "pub,pdb,rbg,disruption"
ACCOUNT = f"system:serviceaccount:{HOME}:intact"
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT]}, {"level": "None"}],
}

_WITHOUT_DISRUPTION = ("--controllers=*,-disruption-controller",)
_FORBIDDEN = "forbidden"
_TERMINATED = "because it is being terminated"


class ClusterWithAccount(ClusterWithIntact):
    def __init__(self, controllers: str = CONTROLLERS) -> None:
        self._controllers = controllers
        self._directory = Path(tempfile.mkdtemp(prefix="intact-account-"))
        self._audit = self._directory / "audit.log"
        policy = self._directory / "policy.yaml"
        policy.write_bytes(msgspec.yaml.encode(_POLICY))
        super().__init__(
            {
                "kube-apiserver": [
                    *APISERVER_FLAGS,
                    f"--audit-policy-file={policy}",
                    f"--audit-log-path={self._audit}",
                    # An owner reference that blocks its owner's deletion takes rights on the owner.
                    "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
                ],
                "kube-controller-manager": [
                    *(_WITHOUT_DISRUPTION if "disruption" in controllers.split(",") else ()),
                    "--horizontal-pod-autoscaler-sync-period=1s",
                ],
            }
        )

    def open(self) -> None:
        super().open()
        intact = Path(sys.executable).with_name("intact")
        options = ("--image=example.test/intact:1", f"--controllers={self._controllers}")
        made = _output([str(intact), "manifests", *options])
        _kubectl(self.cluster, "apply", "--filename=-", stdin=made)
        until_allowed(self.cluster, HOME)
        token = _kubectl(self.cluster, "create", "token", "intact", f"--namespace={HOME}")
        self._kubeconfig = write_kubeconfig(
            self.cluster,
            self._directory / "kubeconfig",
            namespace=HOME,
            user={"token": token.strip()},
        )

    def close(self, *, failed: bool) -> None:
        super().close(failed=failed)
        shutil.rmtree(self._directory)

    def start(self, log: Path) -> OperatorProcess:
        options = (f"--webhook-bind={self.bind}", f"--controllers={self._controllers}")
        return OperatorProcess(self._kubeconfig, log, *options)

    def requests(self) -> Iterator[Json]:
        """All requests of the account so far, from the API server's audit log."""
        for line in self._audit.read_bytes().splitlines():
            yield msgspec.json.decode(line)

    def forbidden(self) -> list[str]:
        """What the API server forbade the account, by its audit log and by Intact's own log. It
        also forbids everyone to create objects in a terminating namespace: those are left out."""
        found = []
        for request in self.requests():
            answer = request.get("responseStatus", {})
            if answer.get("code") == 403:
                found.append(f"{request['verb']} {request['requestURI']}: {answer.get('message')}")
        found += [
            line for each in self.operators for line in each.log.splitlines() if _FORBIDDEN in line
        ]
        return [line for line in found if _TERMINATED not in line]


def until_allowed(cluster: Cluster, namespace: str) -> None:
    """Wait until the API server's own watches have brought the roles and bindings."""
    everywhere = {"verb": "create", "resource": "events"}
    here = {"verb": "create", "resource": "secrets", "namespace": namespace}

    def allowed() -> bool:
        return all(_may(cluster, namespace, each) for each in (everywhere, here))

    wait_for(allowed, f"the rights of the account in {namespace}")


def _may(cluster: Cluster, namespace: str, attributes: dict[str, str]) -> bool:
    account = f"system:serviceaccount:{namespace}:intact"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(cluster.api.create(path, review)["status"]["allowed"])


def _kubectl(cluster: Cluster, *arguments: str, stdin: str = "") -> str:
    return _output([str(cluster.kubectl), f"--kubeconfig={cluster.kubeconfig}", *arguments], stdin)


def _output(command: list[str], stdin: str = "") -> str:
    ran = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
