"""The development cluster itself: start and end, options, failures, restarts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster import ApiError, Cluster, ComponentError, DevclusterError, pins
from devcluster.api import Api
from devcluster.components import COMPONENTS
from devcluster.etcd import Etcd
from devcluster.process import alive
from devcluster.waiting import wait_for

ROOT = Path(__file__).parents[2]
# etcd and kube-apiserver alone start in half the time.
SMALL = ("kube-controller-manager", "kube-scheduler", "kwok")


def devcluster(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devcluster", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def component_pids(status: str) -> dict[str, int]:
    rows = [line.split() for line in status.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row[-1] == "running"}


def wait_until_gone(pids: dict[str, int]) -> None:
    wait_for(
        lambda: not any(alive(pid) for pid in pids.values()),
        f"the end of {pids}",
        timeout=120,
    )


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "cluster"
    yield directory
    devcluster("down", f"--data-dir={directory}")


def test_the_session_cluster_has_everything(cluster: Cluster) -> None:
    assert set(cluster.pids()) == set(COMPONENTS)
    version = cluster.api.get("/version")
    client = subprocess.run(
        [cluster.kubectl, "version", "--client"], capture_output=True, text=True, check=True
    )
    minor = pins.chosen_version()
    assert version["gitVersion"] == pins.patch_of(minor)
    assert f"{version['major']}.{version['minor']}" == cluster.version == minor
    # kubectl is that of the newest version, whatever the servers are.
    assert f"Client Version: {pins.patch_of(pins.newest())}" in client.stdout
    assert cluster.server.startswith("https://127.0.0.1:")
    assert {each.name for each in cluster.logs.iterdir()} == {f"{name}.log" for name in COMPONENTS}
    assert cluster.kubeconfig.stat().st_mode & 0o077 == 0


@pytest.mark.kubernetes_version("since", "1.36", "earlier servers do not know these flags")
def test_the_commands_up_status_kubectl_and_down(data_dir: Path) -> None:
    here = f"--data-dir={data_dir}"
    options = [
        *("--nodes=2", "--without=kube-scheduler"),
        "--apiserver-flag=--feature-gates=GenericWorkload=true",
        "--apiserver-flag=--runtime-config=scheduling.k8s.io/v1alpha2=true",
        "--controller-manager-flag=--controllers=*,-disruption-controller",
    ]
    up = devcluster("up", here, *options)
    assert up.returncode == 0, up.stderr
    assert up.stdout.strip() == str(data_dir / "kubeconfig")

    other = devcluster("up", here, "--version=1.30")
    assert other.returncode != 0
    assert f"a cluster of Kubernetes {pins.newest()} is running in {data_dir}" in other.stderr

    again = devcluster("up", here)
    assert (again.returncode, again.stdout) == (0, up.stdout)
    assert "already running" in again.stderr

    status = devcluster("status", here)
    assert status.returncode == 0
    assert str(data_dir / "kubeconfig") in status.stdout
    pids = component_pids(status.stdout)
    assert set(pids) == {*COMPONENTS, "keeper"} - {"kube-scheduler"}
    command = Path(f"/proc/{pids['kube-controller-manager']}/cmdline").read_bytes()
    assert b"--controllers=*,-disruption-controller" in command.split(b"\0")

    nodes = devcluster("kubectl", here, "--", "get", "nodes", "--output=name")
    assert nodes.stdout.split() == ["node/node-0", "node/node-1"]
    resources = devcluster("kubectl", here, "--", "api-resources", "--output=name").stdout
    assert "podgroups.scheduling.k8s.io" in resources.split()

    assert devcluster("down", here).returncode == 0
    assert not any(alive(pid) for pid in pids.values())
    gone = devcluster("status", here)
    assert gone.returncode != 0
    assert "no cluster is running" in gone.stderr


def test_killing_the_keeper_ends_everything(data_dir: Path) -> None:
    here = f"--data-dir={data_dir}"
    up = devcluster("up", here, *(f"--without={name}" for name in SMALL))
    assert up.returncode == 0, up.stderr
    pids = component_pids(devcluster("status", here).stdout)
    assert all(alive(pid) for pid in pids.values())

    os.kill(pids["keeper"], signal.SIGKILL)

    wait_until_gone(pids)
    assert devcluster("status", here).returncode != 0


def test_killing_the_process_of_a_cluster_ends_everything(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from devcluster import Cluster\n"
        f"with Cluster(nodes=0, data_dir={str(tmp_path / 'held')!r}, without={SMALL!r}) as c:\n"
        "    print(*c.pids().values(), flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        pids = {pid: int(pid) for pid in holder.stdout.readline().split()}
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids.values())
        holder.kill()
        wait_until_gone(pids)


def test_a_temporary_directory_is_removed_after_success_and_kept_after_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Cluster(nodes=0, without=SMALL) as good:
        assert good.kubeconfig.exists()
    assert not good.data_dir.exists()

    bad = Cluster(nodes=0, without=SMALL)
    with pytest.raises(ZeroDivisionError), bad:
        raise ZeroDivisionError
    assert (bad.logs / "kube-apiserver.log").stat().st_size > 0
    assert str(bad.data_dir) in capsys.readouterr().err
    shutil.rmtree(bad.data_dir)


def test_a_component_that_does_not_start_is_shown_with_its_log(tmp_path: Path) -> None:
    flags = {"kube-apiserver": ["--no-such-flag"]}
    with (
        pytest.raises(ComponentError) as caught,
        Cluster(nodes=0, flags=flags, data_dir=tmp_path / "broken", without=SMALL),
    ):
        pass
    message = str(caught.value)
    assert message.startswith("kube-apiserver ended with exit code 1")
    assert "unknown flag: --no-such-flag" in message
    # The components that had been started are gone.
    with Cluster(nodes=0, data_dir=tmp_path / "broken", without=SMALL) as started:
        started.wait_ready()


def test_a_failed_test_keeps_the_logs_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        f"def cluster_options(): return dict(nodes=0, without={SMALL!r})\n"
        "def test_it(cluster): assert cluster.data_dir is None\n"
    )
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "devcluster.pytest_plugin", "-s"),
            *("-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "test_it.py")),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "1 failed" in ran.stdout
    kept = [line for line in ran.stderr.splitlines() if "logs are kept in" in line]
    assert len(kept) == 1, ran.stderr
    logs = Path(kept[0].split()[-1])
    assert (logs / "etcd.log").exists()
    shutil.rmtree(logs.parent)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"without": ["kubelet"]}, "no such component: kubelet"),
        ({"flags": {"apiserver": ["--v=1"]}}, "no such component: apiserver"),
        ({"without": ["etcd"]}, "a cluster needs etcd"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DevclusterError, match=message):
        Cluster(**arguments)


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    with pytest.raises(DevclusterError, match="not a devcluster's"):
        Cluster(data_dir=tmp_path).open()
    assert [each.name for each in tmp_path.iterdir()] == ["precious"]


def test_a_directory_in_use_is_refused(cluster: Cluster) -> None:
    with pytest.raises(DevclusterError, match="a cluster is running in"):
        Cluster(data_dir=cluster.data_dir).open()
    cluster.wait_ready()


def test_components_start_only_in_the_main_thread(cluster: Cluster) -> None:
    errors: list[BaseException] = []

    def start() -> None:
        try:
            cluster.start("kube-scheduler")
        except DevclusterError as error:
            errors.append(error)

    cluster.stop("kube-scheduler", signal.SIGTERM)
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    cluster.start("kube-scheduler")
    cluster.wait_ready()

    assert [str(each)[:50] for each in errors] == [
        "components can be started only from the main threa"
    ]


def test_the_api_server_can_be_killed_and_started_again(cluster: Cluster, namespace: str) -> None:
    server, pid = cluster.server, cluster.pid("kube-apiserver")
    cluster.stop("kube-apiserver", signal.SIGKILL)
    assert not alive(pid)
    with pytest.raises(OSError, match="refused"):
        cluster.api.get("/readyz")

    cluster.start("kube-apiserver")
    cluster.wait_ready()

    assert cluster.server == server
    assert cluster.pid("kube-apiserver") != pid
    # Controller manager, scheduler and kwok have reconnected: they make these pods ready.
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    labels = {"app": "web"}
    container = {"name": "main", "image": "example.test/app:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    cluster.api.create(
        path,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        },
    )
    wait_for(
        lambda: cluster.api.get(f"{path}/web")["status"].get("readyReplicas") == 2,
        "two ready replicas",
    )


def test_compaction_forgets_old_revisions(cluster: Cluster, namespace: str) -> None:
    etcd = Etcd(cluster.etcd)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    created = cluster.api.create(
        path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    )
    old = int(created["metadata"]["resourceVersion"])
    cluster.api.patch(f"{path}/one", {"data": {"a": "b"}})
    assert _read_at(etcd, old) == 200

    compacted = cluster.compact()

    assert compacted > old
    assert _read_at(etcd, old) == 400
    assert cluster.compact() >= compacted


def _read_at(etcd: Etcd, revision: int) -> int:
    request = urllib.request.Request(
        f"{etcd.endpoint}/v3/kv/range", f'{{"key": "YQ==", "revision": {revision}}}'.encode()
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_token_authenticates_and_rbac_decides(cluster: Cluster, namespace: str) -> None:
    token = subprocess.run(
        [cluster.kubectl, "create", "token", "default", f"--namespace={namespace}"],
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    ca = cluster.layout.ca.certificate
    account = Api(cluster.server, ca, token=token)
    path = f"/api/v1/namespaces/{namespace}/pods"

    with pytest.raises(ApiError) as denied:
        account.get(path)
    with pytest.raises(ApiError) as unknown:
        Api(cluster.server, ca, token=token[:-8]).get(path)
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    cluster.api.create(
        f"{rbac}/rolebindings",
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "view"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "view",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
        },
    )

    assert denied.value.status == 403
    assert f"system:serviceaccount:{namespace}:default" in denied.value.message
    assert unknown.value.status == 401
    assert wait_for(lambda: _allowed(account, path), "the role to be in force")
    roots = f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt"
    published = wait_for(lambda: _found(cluster.api, roots), "the root CA to be published")
    assert published["data"]["ca.crt"] == ca.read_text()


def _allowed(api: Api, path: str) -> bool:
    try:
        api.get(path)
    except ApiError:
        return False
    return True


def _found(api: Api, path: str) -> Any:
    try:
        return api.get(path)
    except ApiError:
        return None
