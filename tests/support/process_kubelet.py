"""A node whose kubelet runs the containers of its pods as processes on this machine.

kwok only says that pods run. Here the command of a pod is run for real, with a token of the pod's
own ServiceAccount, and the pod's status is what became of it. Two things are not as in a cluster: a
process has no network of its own, so `intact run` listens on loopback and registers its webhooks by
URL; and the image is the tree under test, unless there is a registry: see `image_registry`.

The kubelet is a process, too: what it has started ends with it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from devcluster import process
from devcluster.api import STRATEGIC_MERGE_PATCH, Api
from devcluster.certificates import KeyPair
from devcluster.cluster import Cluster
from devcluster.errors import ApiError
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from tests.support.contained import contained
from tests.support.image_registry import ImageRegistry
from tests.support.intact_in_image import NETWORK, SECRETS, IntactInImage
from tests.support.kubeconfigs import write_kubeconfig

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
TAINT = "intact.dev/processes"
_TICK = 0.2
_HEARTBEAT = 5.0
"""Seconds. The controller manager gives up a node that it has not heard of for 40 s."""


class ProcessKubelet:
    """Ends with the block."""

    def __init__(
        self,
        cluster: Cluster,
        name: str = "processes",
        *,
        registry: ImageRegistry | None = None,
    ) -> None:
        """With a registry it runs the images that were pushed there; for root."""
        self.name = name
        self._registry = registry
        self._cluster = cluster
        self._directory = Path(tempfile.mkdtemp(prefix="intact-kubelet-"))
        self._ports = Ports()

    def __enter__(self) -> Self:
        labels = {"kubernetes.io/hostname": self.name}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            # For pods whose command is there: only those that tolerate it.
            "spec": {"taints": [{"key": TAINT, "effect": "NoSchedule"}]},
        }
        layout = self._cluster.layout
        self._cluster.api.create("/api/v1/nodes", node)
        given = {
            "node": self.name,
            "server": layout.server,
            "ca": str(layout.ca.certificate),
            "certificate": str(layout.admin.certificate),
            "key": str(layout.admin.key),
            "kubeconfig": str(self._cluster.kubeconfig),
            "directory": str(self._directory),
            "bind": f"127.0.0.1:{self._ports.reserve()}",
            "registry": str(self._registry.directory) if self._registry else "",
        }
        self._process = process.spawn(
            [sys.executable, "-m", "tests.support.process_kubelet", json.dumps(given)],
            self._cluster.logs / "kubelet.log",
            _environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        )
        return self

    def __exit__(self, *_: object) -> None:
        ended = self._process.poll()
        process.end(self._process, grace=30)
        self._cluster.api.delete(f"/api/v1/nodes/{self.name}")
        self._ports.release()
        shutil.rmtree(self._directory)
        assert ended is None, (self._cluster.logs / "kubelet.log").read_text()

    @property
    def ran(self) -> list[list[str]]:
        """The commands of the pods that were run."""
        file = self._directory / "ran"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def logs(self) -> dict[str, str]:
        """What the processes have said, by pod."""
        return {file.stem: file.read_text() for file in self._directory.glob("*.log")}

    def fail_jobs(self, *, fail: bool) -> None:
        """From now on Jobs fail without being run, or do not."""
        file = self._directory / "fail"
        if fail:
            file.touch()
        else:
            file.unlink()


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    operator: OperatorProcess | None
    told: str = ""
    """The last phase and readiness that the status says."""

    def terminate(self) -> None:
        """As a kubelet: the signal goes to the first process of the container."""
        if isinstance(self.operator, IntactInImage):
            if self.process.poll() is None:
                os.kill(self.operator.pid, signal.SIGTERM)
        else:
            self.process.send_signal(signal.SIGTERM)


class _Kubelet:
    def __init__(self, given: dict[str, str]) -> None:
        self._name = given["node"]
        client = KeyPair(Path(given["certificate"]), Path(given["key"]))
        self._server, self._ca = given["server"], Path(given["ca"])
        self._api = Api(self._server, self._ca, client)
        self._registry = ImageRegistry(Path(given["registry"])) if given["registry"] else None
        self._kubeconfig = Path(given["kubeconfig"])
        self._directory = Path(given["directory"])
        self._bind = given["bind"]
        self._pods: dict[str, _Running] = {}
        self._beaten = 0.0

    def run(self) -> None:
        while True:
            if time.monotonic() > self._beaten + _HEARTBEAT:
                self._beat()
            self._look()
            time.sleep(_TICK)

    def _beat(self) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        room = {"cpu": "8", "memory": "16Gi", "pods": "50"}
        status = {
            "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "capacity": room,
            "allocatable": room,
        }
        self._api.patch(f"/api/v1/nodes/{self._name}/status", {"status": status})
        self._beaten = time.monotonic()

    def _look(self) -> None:
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self._name}"
        found = {pod["metadata"]["uid"]: pod for pod in self._api.get(path)["items"]}
        for uid in self._pods.keys() - found.keys():
            process.end(self._pods.pop(uid).process, grace=10)
        for uid, pod in found.items():
            with suppress(ApiError):  # it has changed, or gone: the next look sees it
                self._sync(uid, pod)

    def _sync(self, uid: str, pod: Json) -> None:
        running = self._pods.get(uid)
        if "deletionTimestamp" in pod["metadata"]:
            if running is not None:
                running.terminate()
                running.process.wait(60)
            self._api.delete(f"{_path(pod)}?gracePeriodSeconds=0")
            return
        if running is None:
            if pod["status"].get("phase") == "Pending":
                self._start(uid, pod)
            return
        code = running.process.poll()
        if code is not None:
            self._tell(pod, running, "Succeeded" if code == 0 else "Failed", ready=False)
        else:
            ready = running.operator is None or running.operator.is_ready()
            self._tell(pod, running, "Running", ready=ready)

    def _start(self, uid: str, pod: Json) -> None:
        [container] = pod["spec"]["containers"]
        log = self._directory / f"{pod['metadata']['name']}.log"
        start = self._start_in_tree if self._registry is None else self._start_in_image
        self._pods[uid] = start(uid, pod, container, log)
        with (self._directory / "ran").open("a") as file:
            file.write(json.dumps([*container["command"], *container["args"]]) + "\n")

    def _start_in_tree(self, uid: str, pod: Json, container: Json, log: Path) -> _Running:
        arguments = [each for each in container["args"] if not each.startswith(NETWORK)]
        kubeconfig = self._directory / f"{uid}.kubeconfig"
        user = {"token": self._token(uid, pod)}
        namespace = pod["metadata"]["namespace"]
        write_kubeconfig(self._kubeconfig, kubeconfig, namespace=namespace, user=user)
        if arguments[0] == "run":
            options = (*arguments[1:], f"--webhook-bind={self._bind}")
            operator = OperatorProcess(kubeconfig, log, *options)
            return _Running(operator.process, operator)
        command = [str(Path(sys.executable).with_name(container["command"][0])), *arguments]
        if (self._directory / "fail").exists():
            command = ["false"]
        environment = _environment() | {"KUBECONFIG": str(kubeconfig)}
        return _Running(process.spawn(command, log, environment), None)

    def _start_in_image(self, uid: str, pod: Json, container: Json, log: Path) -> _Running:
        assert self._registry is not None
        image = self._registry.pull(container["image"])
        secrets = self._directory / f"{uid}.secrets"
        secrets.mkdir()
        (secrets / "token").write_text(self._token(uid, pod))
        (secrets / "ca.crt").write_bytes(self._ca.read_bytes())
        (secrets / "namespace").write_text(pod["metadata"]["namespace"])
        host, _, port = self._server.removeprefix("https://").partition(":")
        address = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        environment = image.environment | address
        mounts = {SECRETS: secrets}
        if container["args"][0] == "run":
            options = [f"--webhook-bind={self._bind}"]
            operator = IntactInImage(image.root, container, log, environment, options, mounts)
            return _Running(operator.process, operator)
        user = container["securityContext"]["runAsUser"]
        command = [*container["command"], *container["args"]]
        command = contained(image.root, user, *command, mounts=mounts)
        return _Running(process.spawn(command, log, environment), None)

    def _token(self, uid: str, pod: Json) -> str:
        namespace, account = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": uid}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"boundObjectRef": bound},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        token: str = self._api.create(path, request)["status"]["token"]
        return token

    def _tell(self, pod: Json, running: _Running, phase: str, *, ready: bool) -> None:
        if running.told == f"{phase} {ready}":
            return
        [container] = pod["spec"]["containers"]
        state: Json = {"running": {}}
        if phase != "Running":
            state = {"terminated": {"exitCode": running.process.poll(), "reason": phase}}
        conditions = [{"type": each, "status": str(ready)} for each in ("ContainersReady", "Ready")]
        of_container = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": phase, "conditions": conditions, "containerStatuses": [of_container]}
        self._api.patch(f"{_path(pod)}/status", {"status": status}, STRATEGIC_MERGE_PATCH)
        running.told = f"{phase} {ready}"


def _environment() -> dict[str, str]:
    """The API server is on loopback, where no proxy leads."""
    return {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}


def _path(pod: Json) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


if __name__ == "__main__":
    _Kubelet(json.loads(sys.argv[1])).run()
