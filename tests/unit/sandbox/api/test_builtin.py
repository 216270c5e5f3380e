"""The built-in kinds, where they differ from custom ones."""

import pytest

from intact.kube.client import Client
from intact.kube.transport import Request
from intact.sandbox import DEFAULT_KINDS, MemoryApi
from intact.sandbox.api.objects import decode
from tests.support.objects import DEPLOYMENTS, NAMESPACES, PODS, deployment, pod


async def test_secrets_take_plain_text(api: MemoryApi) -> None:
    body = b'{"metadata":{"name":"s"},"stringData":{"k":"value"}}'
    response = await api.send(Request("POST", "/api/v1/namespaces/default/secrets", body=body))
    made = decode(response.body)
    assert (made["type"], made["data"]) == ("Opaque", {"k": "dmFsdWU="})
    assert "stringData" not in made


async def test_the_defaults_of_a_pod(client: Client) -> None:
    made = await client.create(PODS, pod("p"), "default")
    assert made["spec"]["terminationGracePeriodSeconds"] == 30
    assert made["spec"]["enableServiceLinks"] is True
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_the_defaults_of_a_workload_and_its_template(client: Client) -> None:
    body = deployment("d")
    del body["spec"]["replicas"]
    made = await client.create(DEPLOYMENTS, body, "default")
    assert made["spec"]["replicas"] == 1
    template = made["spec"]["template"]["spec"]
    assert template["restartPolicy"] == "Always"
    assert "enableServiceLinks" not in template


async def test_a_namespace_is_labelled_with_its_name(client: Client) -> None:
    made = await client.create(NAMESPACES, {"metadata": {"name": "n"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert made["spec"]["finalizers"] == ["kubernetes"]


def test_no_two_kinds_share_a_name() -> None:
    assert len({kind.full_name for kind in DEFAULT_KINDS}) == len(DEFAULT_KINDS)


@pytest.mark.parametrize(
    "name", ["deployments.apps", "replicasets.apps", "statefulsets.apps", "replicationcontrollers"]
)
def test_kinds_that_scale(name: str) -> None:
    [kind] = [one for one in DEFAULT_KINDS if one.full_name == name]
    assert "scale" in kind.subresources
