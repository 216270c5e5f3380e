"""The components: their command lines, and the URL that tells whether each is healthy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devcluster.certificates import Authority, KeyPair
from devcluster.kubeconfig import write_kubeconfig
from devcluster.pins import as_numbers
from devcluster.ports import LOOPBACK, Ports
from devcluster.stage_files import stage_files

# In the order in which they start.
ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
COMPONENTS = (ETCD, APISERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK)

KWOK_USER = "devcluster-kwok"
MANAGED_NODE = ("kwok.x-k8s.io/node", "fake")
_CLIENT_RATE = ("--kube-api-qps=5000", "--kube-api-burst=10000")


@dataclass(frozen=True)
class Layout:
    """The files of one cluster, and the ports of its components."""

    version: str
    directory: Path
    ports: dict[str, int]
    peer_port: int
    ca: KeyPair
    serving: KeyPair
    tokens: KeyPair
    admin: KeyPair

    @property
    def server(self) -> str:
        return f"https://{LOOPBACK}:{self.ports[APISERVER]}"

    @property
    def etcd(self) -> str:
        return f"http://{LOOPBACK}:{self.ports[ETCD]}"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def kubeconfig_of(self, component: str) -> Path:
        return self.directory / "pki" / f"{component}.kubeconfig"

    def health(self, component: str) -> str:
        """The URL that answers 200 if the component is healthy; for etcd see `Etcd.healthy`."""
        if component == KWOK:
            return f"http://{LOOPBACK}:{self.ports[KWOK]}/healthz"
        path = "/readyz" if component in self._with_readyz() else "/healthz"
        return f"https://{LOOPBACK}:{self.ports[component]}{path}"

    def _with_readyz(self) -> tuple[str, ...]:
        since_1_31 = as_numbers(self.version) >= (1, 31)
        return (APISERVER, SCHEDULER) if since_1_31 else (APISERVER,)


def lay_out(version: str, directory: Path, ports: Ports) -> Layout:
    """Reserve ports and write certificates and kubeconfigs into `directory`."""
    authority = Authority(directory / "pki")
    layout = Layout(
        version=version,
        directory=directory,
        ports={component: ports.reserve() for component in COMPONENTS},
        peer_port=ports.reserve(),
        ca=authority.pair,
        serving=authority.server("serving", LOOPBACK, "10.96.0.1"),
        tokens=authority.signing_key("tokens"),
        admin=authority.client("admin", "devcluster-admin", "system:masters"),
    )
    layout.logs.mkdir()
    write_kubeconfig(layout.kubeconfig, layout.server, layout.ca.certificate, layout.admin)
    users = {
        CONTROLLER_MANAGER: ("system:kube-controller-manager",),
        SCHEDULER: ("system:kube-scheduler",),
        # kwok is the kubelet of every node at once; the Node authorizer knows no such user.
        KWOK: (KWOK_USER, "system:masters"),
    }
    for component, (user, *groups) in users.items():
        client = authority.client(component, user, *groups)
        write_kubeconfig(
            layout.kubeconfig_of(component), layout.server, layout.ca.certificate, client
        )
    return layout


def command(component: str, binary: Path, layout: Layout, extra: list[str]) -> list[str]:
    """Extra flags come last, so that they override ours."""
    flags = {
        ETCD: _etcd,
        APISERVER: _apiserver,
        CONTROLLER_MANAGER: _controller_manager,
        SCHEDULER: _scheduler,
        KWOK: _kwok,
    }[component](layout)
    return [str(binary), *flags, *extra]


def _etcd(layout: Layout) -> list[str]:
    peer = f"http://{LOOPBACK}:{layout.peer_port}"
    return [
        f"--data-dir={layout.directory / 'etcd'}",
        "--name=devcluster",
        f"--listen-client-urls={layout.etcd}",
        f"--advertise-client-urls={layout.etcd}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=devcluster={peer}",
        # No data has to survive a crash, and a single member elects itself.
        "--unsafe-no-fsync",
        "--heartbeat-interval=20",
        "--election-timeout=100",
        f"--quota-backend-bytes={8 << 30}",
        "--log-level=warn",
    ]


def _apiserver(layout: Layout) -> list[str]:
    return [
        f"--etcd-servers={layout.etcd}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={layout.ports[APISERVER]}",
        # The API server refuses loopback addresses in Endpoints.
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={layout.serving.certificate}",
        f"--tls-private-key-file={layout.serving.key}",
        f"--client-ca-file={layout.ca.certificate}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={layout.tokens.certificate}",
        f"--service-account-signing-key-file={layout.tokens.key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
        "--profiling=false",
    ]


def _controller_manager(layout: Layout) -> list[str]:
    return [
        *_client_and_server(CONTROLLER_MANAGER, layout),
        f"--service-account-private-key-file={layout.tokens.key}",
        f"--root-ca-file={layout.ca.certificate}",
        f"--cluster-signing-cert-file={layout.ca.certificate}",
        f"--cluster-signing-key-file={layout.ca.key}",
        "--use-service-account-credentials=true",
    ]


def _scheduler(layout: Layout) -> list[str]:
    return _client_and_server(SCHEDULER, layout)


def _client_and_server(component: str, layout: Layout) -> list[str]:
    kubeconfig = layout.kubeconfig_of(component)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={layout.ports[component]}",
        f"--tls-cert-file={layout.serving.certificate}",
        f"--tls-private-key-file={layout.serving.key}",
        "--leader-elect=false",
        "--profiling=false",
        *_CLIENT_RATE,
    ]


def _kwok(layout: Layout) -> list[str]:
    key, value = MANAGED_NODE
    return [
        f"--kubeconfig={layout.kubeconfig_of(KWOK)}",
        f"--server-address={LOOPBACK}:{layout.ports[KWOK]}",
        *(f"--config={file}" for file in stage_files(layout.version, layout.directory / "stages")),
        f"--manage-nodes-with-annotation-selector={key}={value}",
        # Without a lease, nodes become NotReady after a minute.
        "--node-lease-duration-seconds=40",
        "--cidr=10.128.0.1/9",
        "--node-ip=10.64.0.1",
        "--v=WARN",
    ]
