"""The CRD of PodUnavailableBudgets on a real API server, and as kubectl shows it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from devcluster import pins
from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.errors import Invalid, NotFound
from intact.kube.http import HttpTransport
from intact.kube.resources import RBGS, untyped
from intact.operator.errors import StartError
from intact.operator.install.crds import definitions
from intact.operator.install.install import CRDS, install
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import Settings
from tests.support.pub_cases import ACCEPTED, REFUSED, Case, amount, budget

PUBS = untyped("policy.kruise.io", "v1alpha1", "podunavailablebudgets", "PodUnavailableBudget")
NAME = "podunavailablebudgets.policy.kruise.io"


@pytest.fixture
def client(cluster: Cluster, runner: asyncio.Runner) -> Iterator[Client]:
    async def connected() -> Client:
        client = Client(HttpTransport(config.load(str(cluster.kubeconfig))))
        await install(client)
        return client

    client = runner.run(connected())
    yield client
    runner.run(client.__aexit__())


def kubectl(cluster: Cluster, *arguments: str, stdin: str = "") -> tuple[str, str]:
    ran = subprocess.run(
        [cluster.kubectl, "--kubeconfig", cluster.kubeconfig, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.stdout, ran.stderr


async def sent(client: Client, namespace: str, case: Case) -> None:
    if case.old is None:
        await client.create(PUBS, budget(case.spec), namespace, dry_run=True)
        return
    stored = await client.create(PUBS, budget(case.old), namespace)
    version = stored["metadata"]["resourceVersion"]
    changed = budget(case.spec, resourceVersion=version)
    await client.update(PUBS, changed, "budget", namespace)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.name)
async def test_the_crd_accepts_a_valid_spec(client: Client, namespace: str, case: Case) -> None:
    await sent(client, namespace, case)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
async def test_the_crd_refuses_an_invalid_spec_at_its_field(
    client: Client, namespace: str, case: Case
) -> None:
    with pytest.raises(Invalid) as caught:
        await sent(client, namespace, case)
    causes = caught.value.causes
    assert any(
        cause.field.startswith(case.field) and case.message in cause.message for cause in causes
    ), causes


async def test_every_status_field_of_the_model_is_stored(client: Client, namespace: str) -> None:
    """The API server would drop a field that the schema does not name."""
    status: dict[str, Any] = {
        "observedGeneration": 1,
        "unavailableAllowed": 1,
        "currentAvailable": 3,
        "desiredAvailable": 2,
        "totalReplicas": 4,
        "unavailableReplicas": 1,
        "disruptedPods": {"a": "2026-01-01T00:00:00Z"},
        "unavailablePods": {"b": "2026-01-01T00:00:00Z"},
        "conditions": [
            {
                "type": "Working",
                "status": "True",
                "reason": "Counted",
                "message": "as it should be",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 1,
            }
        ],
        "ledger": '{"seen":"7"}',
    }
    stored = await client.create(PUBS, budget(amount(1)), namespace)
    body = stored | {"status": status}
    answer = await client.update(PUBS, body, "budget", namespace, subresource="status")
    assert answer["status"] == status


async def test_counters_of_zero_are_shown(client: Client, namespace: str, cluster: Cluster) -> None:
    """Our model leaves out counters of 0; kubectl must show them all the same."""
    stored = await client.create(PUBS, budget(amount(1)), namespace)
    status = {"observedGeneration": 1, "totalReplicas": 3}
    await client.update(
        PUBS, stored | {"status": status}, "budget", namespace, subresource="status"
    )

    out, _ = kubectl(cluster, "get", "pub", "-n", namespace)

    heading, row = (line.split() for line in out.splitlines())
    assert heading == ["NAME", "ALLOWED", "CURRENT", "DESIRED", "TOTAL", "AGE"]
    assert row[:5] == ["budget", "0", "0", "0", "3"]


async def test_a_status_write_does_not_change_the_spec(client: Client, namespace: str) -> None:
    stored = await client.create(PUBS, budget(amount(1)), namespace)
    body = stored | {"spec": amount(5), "status": {"observedGeneration": 1}}
    answer = await client.update(PUBS, body, "budget", namespace, subresource="status")
    assert answer["spec"]["maxUnavailable"] == 1
    assert answer["metadata"]["generation"] == 1


async def test_kubectl_says_what_is_wrong(client: Client, namespace: str, cluster: Cluster) -> None:
    text = json.dumps(budget(amount("150%") | {"podGroupPolicy": {"groupLabelKey": "a b"}}))
    _, error = kubectl(cluster, "apply", "-n", namespace, "-f", "-", stdin=text)
    # Before 1.35 the API server shows the type in place of the value; an amount has none.
    names_values = pins.as_numbers(cluster.version) >= (1, 35)
    shown, key = ("150%", "a b") if names_values else ("", "string")
    assert f'spec.maxUnavailable: Invalid value: "{shown}": must be a number from 0 to' in error
    assert f'groupLabelKey: Invalid value: "{key}": must be a label key, such as app or' in error


async def test_kubectl_refuses_unknown_fields(
    client: Client, namespace: str, cluster: Cluster
) -> None:
    text = json.dumps(budget(amount(1) | {"maxUnavailble": 2}))
    _, error = kubectl(cluster, "apply", "-n", namespace, "-f", "-", stdin=text)
    assert 'unknown field "spec.maxUnavailble"' in error


async def test_kubectl_explains_the_fields(client: Client, cluster: Cluster) -> None:
    async with asyncio.timeout(120):  # the schema is published a moment after the CRD is served
        while True:
            out, _ = kubectl(cluster, "explain", "pub.spec.podGroupPolicy")
            if "minReadyReplicas" in out:
                break
            await asyncio.sleep(0.2)
    assert "Ready pods that a group needs to be available" in out


async def test_several_installs_at_once_succeed_and_another_one_writes_nothing(
    client: Client,
) -> None:
    await asyncio.gather(*(install(client) for _ in range(4)))
    before = await client.get(CRDS, NAME)
    await install(client)
    after = await client.get(CRDS, NAME)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_install_adds_a_version_to_the_definition_of_an_earlier_release(
    client: Client, namespace: str
) -> None:
    """And the objects that are there are served in it."""
    earlier = await client.get(CRDS, NAME)
    earlier["spec"]["versions"] = earlier["spec"]["versions"][:1]
    await client.update(CRDS, earlier, NAME)
    stored = await client.create(PUBS, budget(amount(1)), namespace)
    await install(client)
    beta = untyped(PUBS.group, "v1beta1", PUBS.plural, PUBS.kind)
    found = await client.get(beta, "budget", namespace)
    assert found["apiVersion"] == "policy.kruise.io/v1beta1"
    assert found["spec"] == stored["spec"]
    assert (await client.get(CRDS, NAME))["status"]["storedVersions"] == ["v1alpha1"]


async def test_install_does_not_overwrite_a_definition_with_other_versions(client: Client) -> None:
    before = await client.get(CRDS, NAME)
    foreign = msgspec.json.decode(msgspec.json.encode(before))
    version = dict(foreign["spec"]["versions"][0], name="v9", served=True, storage=False)
    foreign["spec"]["versions"].append(version)
    await client.update(CRDS, foreign, NAME)
    try:
        with pytest.raises(StartError, match="this release of Intact does not know v9"):
            await install(client)
    finally:
        fresh = await client.get(CRDS, NAME)
        fresh["spec"] = before["spec"]
        await client.update(CRDS, fresh, NAME)


def upstream(name: str, storage: str) -> dict[str, Any]:
    """As sgl-project/rbg and OpenKruise install theirs: generated, without a label of Intact."""
    [found] = [each for each in definitions() if each["metadata"]["name"] == name]
    spec = found["spec"]
    any_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": each,
            "served": True,
            "storage": each == storage,
            "schema": {"openAPIV3Schema": any_schema},
        }
        for each in ("v1alpha1", "v1alpha2")
    ]
    annotations = {
        "controller-gen.kubebuilder.io/version": "v0.16.5",
        "api-approved.kubernetes.io": "unapproved, for a test",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "group": spec["group"],
            "scope": "Namespaced",
            "names": spec["names"],
            "versions": versions,
        },
    }


async def gone(client: Client, name: str) -> None:
    with suppress(NotFound):
        await client.delete(CRDS, name)
    async with asyncio.timeout(60):
        while True:
            try:
                await client.get(CRDS, name)
            except NotFound:
                return
            await asyncio.sleep(0.1)


async def intact_run(cluster: Cluster, *options: str) -> tuple[int | None, str]:
    """Until it ends by itself."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("intact")),
        "run",
        f"--kubeconfig={cluster.kubeconfig}",
        "--http-bind=127.0.0.1:0",
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, said.decode()


@pytest.mark.parametrize("storage", ["v1alpha1", "v1alpha2"])
@pytest.mark.parametrize(
    ("name", "controller", "product"),
    [(NAME, "pub", "OpenKruise"), (RBGS.full_name, "rbg", "sgl-project/rbg")],
)
async def test_the_crd_of_another_product_stays_as_it_is(
    client: Client, cluster: Cluster, name: str, controller: str, product: str, storage: str
) -> None:
    await gone(client, name)
    theirs = json.dumps(upstream(name, storage))
    try:
        kubectl(cluster, "create", "-f", "-", stdin=theirs)
        parts = (
            f"the CRD {name} with versions v1alpha1, v1alpha2 ({storage} stored)",
            f"did not install ({product}'s?)",
            f"--controllers without {controller}",
        )
        with pytest.raises(StartError) as caught:
            await install(client)
        assert all(part in str(caught.value) for part in parts), caught.value
        # Neither with --install nor without does a process work on the other product's objects.
        for options in (("--install", "--webhook-bind=127.0.0.1:0"), ()):
            code, said = await intact_run(cluster, *options)
            assert code == 1, said
            assert all(part in said for part in parts), said
        # Nor does kubectl put the manifests over it, if it applies on the server.
        items = manifests(Settings(image="intact:1"))
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        _, error = kubectl(
            cluster, "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text
        )
        assert "conflict" in error
        assert ".spec.versions" in error
        # Without --server-side, only a stored version keeps it from that: docs/install.md warns.
        out, error = kubectl(cluster, "apply", "--dry-run=server", "-f", "-", stdin=text)
        refused = "status.storedVersions" in error
        assert refused is (storage == "v1alpha2"), error
        assert (f"/{name} configured" in out) is not refused, out
        after = await client.get(CRDS, name)
        assert after["metadata"]["generation"] == 1
        assert "labels" not in after["metadata"]
        assert after["status"]["storedVersions"] == [storage]
    finally:
        await gone(client, name)
