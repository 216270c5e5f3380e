"""The webhook port on a real cluster: what others store for it, send to it and hold open."""

import base64

from cryptography.hazmat.primitives.asymmetric import rsa

from intact.kube.resources import untyped
from intact.operator.webhook.certificates import REPLACED, SECRET
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import EVENTS, NamespaceUnderTest, eventually
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
    for operator in intact_cluster.operators:
        operator.kill()
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
