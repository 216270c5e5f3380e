"""The webhook port on a real cluster: what others store for it, send to it and hold open."""

import base64
import socket
import ssl
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import aiohttp
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from devcluster.cluster import Cluster
from devcluster.operator_process import OperatorProcess
from intact.kube import config
from intact.kube.client import Client
from intact.kube.errors import ApiError
from intact.kube.http import HttpTransport
from intact.kube.resources import PUBS, untyped
from intact.operator.webhook.certificates import REPLACED, SECRET
from intact.operator.webhook.configuration import NAME, VALIDATING
from tests.support.client_certificates import ClientAuthority
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import EVENTS, NamespaceUnderTest, eventually
from tests.support.objects import Json
from tests.support.pub_cases import budget
from tests.support.spoilt_authorities import made

SECRETS = untyped("", "v1", "secrets", "Secret")
HOME = "default"
WEB = {"app": "web"}
NONE = {"selector": {"matchLabels": WEB}, "maxUnavailable": 0}


async def test_operators_start_with_a_secret_of_another_kind_that_cannot_be_changed(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.pods("a", labels=WEB)
    await ns.budget(NONE, total_replicas=1)
    intact_cluster.stop()
    certificate, key = made(rsa.generate_private_key(65537, 2048))
    parts = {"ca.crt": certificate, "ca.key": key, "tls.crt": certificate, "tls.key": key}
    await ns.client.delete(SECRETS, SECRET, HOME)
    spoilt = await ns.client.create(
        SECRETS,
        {
            "metadata": {"name": SECRET},
            "type": "kubernetes.io/tls",
            "immutable": True,
            "data": {name: base64.b64encode(value).decode() for name, value in parts.items()},
        },
        HOME,
    )
    intact_cluster.restore()
    found = await ns.client.get(SECRETS, SECRET, HOME)
    assert found["metadata"]["uid"] != spoilt["metadata"]["uid"]
    assert found["type"] == "Opaque"

    async def evicted() -> int:
        return (await ns.evict("a")).code

    await eventually(evicted, lambda code: code == 429, "the gate to answer")

    async def events() -> list[dict[str, object]]:
        fields = f"involvedObject.kind=Secret,involvedObject.name={SECRET},reason={REPLACED}"
        return list((await ns.client.list(EVENTS, HOME, fields=fields)).items)

    await eventually(events, bool, f"an event {REPLACED}")


async def test_only_an_api_server_with_a_certificate_is_answered(
    tmp_path: Path,
) -> None:
    """With the AdmissionConfiguration of the documentation."""
    authority = ClientAuthority()
    pair = authority.pair(tmp_path / "client.pem")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        bind = f"127.0.0.1:{free.getsockname()[1]}"
    user = {"client-certificate": str(pair), "client-key": str(pair)}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": bind, "user": user}]}
    (tmp_path / "kubeconfig").write_bytes(msgspec.json.encode(kubeconfig))
    group = {"apiVersion": "apiserver.config.k8s.io/v1"}
    webhooks = {
        **group,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(tmp_path / "kubeconfig"),
    }
    plugins = [
        {"name": f"{kind}AdmissionWebhook", "configuration": webhooks}
        for kind in ("Validating", "Mutating")
    ]
    admission = {**group, "kind": "AdmissionConfiguration", "plugins": plugins}
    (tmp_path / "admission").write_bytes(msgspec.json.encode(admission))
    flag = f"--admission-control-config-file={tmp_path / 'admission'}"
    options = ("--install", f"--webhook-bind={bind}", f"--webhook-client-ca={tmp_path / 'ca.crt'}")
    without = ["kwok", "kube-scheduler"]
    with (
        Cluster(nodes=0, without=without, flags={"kube-apiserver": [flag]}) as cluster,
        OperatorProcess(cluster.kubeconfig, tmp_path / "log", *options) as operator,
    ):
        operator.wait_ready()
        async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
            # The process is ready once it serves; the leader registers the webhooks after that.
            registered = await eventually(
                lambda: client.get(VALIDATING, NAME), bool, "the webhooks to be registered"
            )
            [hook, *_] = registered.webhooks or []
            url = hook["clientConfig"]["url"]
            bundle = base64.b64decode(hook["clientConfig"]["caBundle"]).decode()

            async def refused() -> str:
                """Why the API server takes no second budget for the same pods."""
                try:
                    await client.create(PUBS, budget(NONE, "c"), "default")
                except ApiError as error:
                    return str(error)
                await client.delete(PUBS, "c", "default")
                return ""

            body = budget(NONE, "b")
            await eventually(partial(created, client, body), bool, "a budget to be taken")
            said = await eventually(refused, bool, "a budget to be refused")
            assert 'admission webhook "budgets.intact.dev" denied the request' in said
            strangers = ssl.create_default_context(cadata=bundle)
            with pytest.raises((aiohttp.ClientError, OSError)):
                await posted(url, strangers)
            strangers.load_cert_chain(pair)
            assert await posted(url, strangers) == 400, "it is no review, but it is read"


async def created(client: Client, body: Json) -> bool:
    with suppress(ApiError):
        await client.create(PUBS, body, "default")
        return True
    return False


async def posted(url: str, context: ssl.SSLContext) -> int:
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client,
        client.post(url, data=b"{}") as answer,
    ):
        return answer.status
