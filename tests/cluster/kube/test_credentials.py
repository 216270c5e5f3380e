"""Each way to authenticate, at a real API server."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from devcluster.certificates import KeyPair
from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.config import Config
from intact.kube.errors import ConfigError, Forbidden, Unauthorized
from intact.kube.http import HttpTransport
from intact.kube.resources import PODS, untyped
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.objects import SERVICE_ACCOUNTS

REVIEWS = untyped(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
ROLE_BINDINGS = untyped("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


async def whoami(configuration: Config) -> tuple[str, set[str]]:
    """The user and the groups that the server knows us by."""
    async with Client(HttpTransport(configuration)) as client:
        review = await client.create(
            REVIEWS, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        )
    user = review["status"]["userInfo"]
    return user["username"], set(user["groups"])


async def token_of(cluster: Cluster, namespace: str, account: str = "default") -> str:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        answer = await client.create_subresource(
            SERVICE_ACCOUNTS, account, namespace, "token", {"spec": {"expirationSeconds": 600}}
        )
    return str(answer["status"]["token"])


class AccountDirectory:
    """What the kubelet mounts into a pod."""

    def __init__(self, path: Path, cluster: Cluster, namespace: str) -> None:
        self.path = path
        path.mkdir()
        (path / "ca.crt").write_bytes(cluster.layout.ca.certificate.read_bytes())
        (path / "namespace").write_text(namespace)

    def write(self, token: str) -> None:
        (self.path / "token").write_text(token)


class Plugin:
    """A credential plugin that prints a prepared answer."""

    def __init__(self, directory: Path, api_version: str = V1) -> None:
        self._answer = directory / "answer.json"
        self._command = directory / "plugin"
        self._api_version = api_version
        self._command.write_text(f"#!/bin/sh\nexec cat {self._answer}\n")
        self._command.chmod(self._command.stat().st_mode | stat.S_IXUSR)

    @property
    def user(self) -> dict[str, Any]:
        return {"exec": {"apiVersion": self._api_version, "command": str(self._command)}}

    def gives(self, **status: str) -> None:
        answer = {"apiVersion": self._api_version, "kind": "ExecCredential", "status": status}
        self._answer.write_text(json.dumps(answer))

    def gives_certificate(self, pair: KeyPair) -> None:
        self.gives(
            clientCertificateData=pair.certificate.read_text(), clientKeyData=pair.key.read_text()
        )


@pytest.fixture
def in_pod(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    _, host, port = cluster.server.replace("//", "").split(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)


async def test_the_client_certificate_of_a_kubeconfig_authenticates(cluster: Cluster) -> None:
    user, groups = await whoami(config.load(str(cluster.kubeconfig)))
    assert user == "devcluster-admin"
    assert "system:masters" in groups


@pytest.mark.usefixtures("in_pod")
async def test_the_mounted_service_account_of_a_pod_authenticates(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    account = AccountDirectory(tmp_path / "account", cluster, namespace)
    account.write(await token_of(cluster, namespace))
    configuration = config.in_cluster(account.path)
    assert configuration.namespace == namespace
    user, groups = await whoami(configuration)
    assert user == f"system:serviceaccount:{namespace}:default"
    assert "system:authenticated" in groups


@pytest.mark.usefixtures("in_pod")
async def test_a_wrong_token_is_unauthorized_until_its_file_holds_a_right_one(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    account = AccountDirectory(tmp_path / "account", cluster, namespace)
    account.write("wrong")
    async with Client(HttpTransport(config.in_cluster(account.path))) as client:
        with pytest.raises(Unauthorized):
            await client.list(PODS, namespace)
        account.write(await token_of(cluster, namespace))
        with pytest.raises(Forbidden):  # authenticated now, but not authorized
            await client.list(PODS, namespace)


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_the_token_of_a_credential_plugin_authenticates(
    cluster: Cluster, namespace: str, tmp_path: Path, version: str
) -> None:
    plugin = Plugin(tmp_path, version)
    plugin.gives(token=await token_of(cluster, namespace))
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=plugin.user)
    user, _ = await whoami(config.load(str(kubeconfig)))
    assert user == f"system:serviceaccount:{namespace}:default"


async def test_the_certificate_of_a_credential_plugin_authenticates(
    cluster: Cluster, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path)
    plugin.gives_certificate(cluster.layout.admin)
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=plugin.user)
    user, _ = await whoami(config.load(str(kubeconfig)))
    assert user == "devcluster-admin"


async def test_a_plugin_is_run_again_when_its_token_is_refused(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path)
    plugin.gives(token="expired")
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=plugin.user)
    transport = HttpTransport(config.load(str(kubeconfig)))
    async with Client(transport) as client:
        await transport.prepare()
        plugin.gives_certificate(cluster.layout.admin)
        assert (await client.list(PODS, namespace)).items == []


async def test_a_failing_credential_plugin_is_a_config_error(
    cluster: Cluster, tmp_path: Path
) -> None:
    plugin = Plugin(tmp_path)
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=plugin.user)
    with pytest.raises(ConfigError, match="failed with code"):
        await whoami(config.load(str(kubeconfig)))


async def test_a_kubeconfig_with_as_impersonates_user_and_groups(
    cluster: Cluster, tmp_path: Path
) -> None:
    admin = json.loads(cluster.kubeconfig.read_text())["users"][0]["user"]
    acting = admin | {"as": "jane", "as-groups": ["dev", "ops"]}
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=acting)
    user, groups = await whoami(config.load(str(kubeconfig)))
    assert user == "jane"
    assert {"dev", "ops"} <= groups


async def until_allowed(client: Client, namespace: str) -> None:
    """Wait until the API server's own watch has brought the role binding."""
    async with asyncio.timeout(60):
        while True:
            try:
                await client.list(PODS, namespace)
            except Forbidden:
                await asyncio.sleep(0.05)
            else:
                return


async def test_a_role_allows_its_verbs_and_others_are_forbidden(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as admin:
        await admin.create(
            ROLE_BINDINGS,
            {
                "metadata": {"name": "may-look"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "view",
                },
                "subjects": [{"kind": "ServiceAccount", "name": "default"}],
            },
            namespace,
        )
    user = {"token": await token_of(cluster, namespace)}
    kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=user)
    async with Client(HttpTransport(config.load(str(kubeconfig)))) as client:
        await until_allowed(client, namespace)
        assert (await client.list(PODS, namespace)).items == []
        with pytest.raises(Forbidden) as caught:
            await client.delete(PODS, "p", namespace)
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    assert str(caught.value) == (
        f'pods "p" is forbidden: User "system:serviceaccount:{namespace}:default" cannot delete '
        f'resource "pods" in API group "" in the namespace "{namespace}"'
    )
