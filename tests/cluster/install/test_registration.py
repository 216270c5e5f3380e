"""The webhook registration on a real API server: which requests reach the gate and which do not."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client, PatchType
from intact.kube.errors import ApiError, NotFound, ServerError
from intact.kube.http import HttpTransport
from intact.kube.resources import untyped
from intact.model.admission import AdmissionRequest, AdmissionResponse
from intact.operator.install.install import install
from intact.operator.webhook.authority import new_authority
from intact.operator.webhook.certificates import Certificates
from intact.operator.webhook.configuration import (
    GATED_LABEL,
    NAME,
    VALIDATING,
    UrlAddress,
    validating_configuration,
)
from intact.operator.webhook.registration import Registration
from intact.operator.webhook.server import serving_webhooks
from tests.contract.backends import cached
from tests.support import resizes
from tests.support.objects import NAMESPACES, PODS, pod
from tests.support.pub_cases import amount, budget

PUBS = untyped("policy.kruise.io", "v1alpha1", "podunavailablebudgets", "PodUnavailableBudget")
RAW = untyped(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
HOST = "127.0.0.1"
MARK = "unavailable-pod.kruise.io/out"
Json = dict[str, Any]


class Gate:
    """A namespace whose pods are gated by a server that allows and records every request."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.asked: list[str] = []
        """`OPERATION resource name`."""
        self.namespaces = {namespace}
        """Only requests in these are recorded: namespaces of other tests may be terminating."""

    async def answer(self, raw: msgspec.Raw) -> AdmissionResponse:
        request = msgspec.json.decode(raw, type=AdmissionRequest)
        if request.namespace in self.namespaces:
            resource = "/".join(filter(None, (request.resource.resource, request.sub_resource)))
            self.asked.append(f"{request.operation} {resource} {request.name}")
        return AdmissionResponse(allowed=True)

    async def make(self, name: str = "p", *, namespace: str = "", **metadata: Any) -> None:
        """Create a pod that is not scheduled, so that only the test changes it."""
        body = pod(name, images={"main": "example.test/main:1", "side": "example.test/side:1"})
        body["metadata"] |= metadata
        body["spec"] |= {
            "schedulerName": "nobody",
            "initContainers": [{"name": "init", "image": "example.test/init:1"}],
        }
        main = body["spec"]["containers"][0]
        main["resources"] = {
            "requests": {"cpu": "100m", "memory": "64Mi"},
            "limits": {"cpu": "200m", "memory": "128Mi"},
        }
        main["resizePolicy"] = [
            {"resourceName": "cpu", "restartPolicy": "NotRequired"},
            {"resourceName": "memory", "restartPolicy": "RestartContainer"},
        ]
        await self.client.create(PODS, body, namespace or self.namespace)

    async def patch(self, body: Json, *, subresource: str = "") -> None:
        await self.client.patch(
            PODS, body, "p", self.namespace, type=PatchType.STRATEGIC, subresource=subresource
        )

    async def delete(self, **options: Any) -> None:
        await self.client.delete(PODS, "p", self.namespace, **options)


@asynccontextmanager
async def registered(client: Client, address: UrlAddress, bundle: bytes) -> AsyncIterator[None]:
    registration = Registration(client, lambda: validating_configuration(address, bundle))
    await install(client)
    await registration.ensure()
    try:
        yield
    finally:
        with suppress(NotFound):
            await client.delete(RAW, NAME)


@asynccontextmanager
async def gate_in(cluster: Cluster, namespace: str) -> AsyncIterator[Gate]:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        await label(client, namespace)
        certificates = Certificates(client, namespace, [HOST])
        await certificates.refresh()
        gate = Gate(client, namespace)
        handlers = {"/gate": gate.answer, "/validate/pub": gate.answer}
        async with serving_webhooks(handlers, HOST, 0, certificates.context) as [address]:
            port = int(address.rpartition(":")[2])
            async with registered(client, UrlAddress(HOST, port), certificates.ca_bundle):
                await until_asked(gate)
                yield gate


async def label(client: Client, namespace: str) -> None:
    await client.patch(NAMESPACES, {"metadata": {"labels": {GATED_LABEL: "true"}}}, namespace)


async def until_asked(gate: Gate) -> None:
    """Wait until the API server has noticed the registration and the label."""
    await gate.make("probe")
    async with asyncio.timeout(60):
        while True:
            with suppress(ServerError):
                await gate.client.delete(PODS, "probe", gate.namespace, dry_run=True)
                await gate.client.create(PUBS, budget(amount(1)), gate.namespace, dry_run=True)
            asked = {each.partition(" ")[2].partition(" ")[0] for each in gate.asked}
            if {"pods", "podunavailablebudgets"} <= asked:
                break
            await asyncio.sleep(0.05)
    gate.asked.clear()


Step = Callable[[Gate], Awaitable[None]]


async def nothing(_: Gate) -> None:
    pass


async def terminating(gate: Gate) -> None:
    await gate.delete()


async def finished(gate: Gate) -> None:
    await gate.patch({"status": {"phase": "Succeeded"}}, subresource="status")


async def marked(gate: Gate) -> None:
    await gate.patch({"metadata": {"labels": {MARK: "1"}}})


async def limited(gate: Gate) -> None:
    await gate.patch({"spec": {"activeDeadlineSeconds": 100}})


def delete(**options: Any) -> Step:
    return lambda gate: gate.delete(**options)


def patch(body: Json, subresource: str = "") -> Step:
    return lambda gate: gate.patch(body, subresource=subresource)


def image(container: str, value: str, field: str = "containers") -> Step:
    return patch({"spec": {field: [{"name": container, "image": value}]}})


def labels(**values: str | None) -> Step:
    return patch({"metadata": {"labels": values}})


def resize(**amounts: str) -> Step:
    resources = {"requests": amounts}
    return patch(
        {"spec": {"containers": [{"name": "main", "resources": resources}]}}, resizes.SUBRESOURCE
    )


async def delete_collection(gate: Gate) -> None:
    await gate.client.delete_collection(PODS, gate.namespace, labels="of=collection")


async def evict(gate: Gate) -> None:
    await gate.client.evict(PODS, "p", gate.namespace)


async def create_another(gate: Gate) -> None:
    await gate.make("another")


async def bind(gate: Gate) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": "nowhere"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target}
    with suppress(ApiError):  # there is no such node; the gate must not be asked anyway
        await gate.client.create_subresource(PODS, "p", gate.namespace, "binding", body)


TOLERATION = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}


@pytest.mark.parametrize(
    ("before", "step", "asked"),
    [
        pytest.param(nothing, delete(), "DELETE pods p", id="delete"),
        pytest.param(nothing, delete(dry_run=True), "DELETE pods p", id="dry run of a delete"),
        pytest.param(nothing, delete_collection, "DELETE pods ", id="delete a collection"),
        pytest.param(terminating, delete(grace_period_seconds=0), "", id="the kubelet's delete"),
        pytest.param(finished, delete(), "", id="delete a finished pod"),
        pytest.param(nothing, evict, "CREATE pods/eviction p", id="evict"),
        pytest.param(nothing, image("main", "x:2"), "UPDATE pods p", id="image"),
        pytest.param(nothing, image("side", "x:2"), "UPDATE pods p", id="image of a sidecar"),
        pytest.param(
            nothing, image("init", "x:2", "initContainers"), "UPDATE pods p", id="init image"
        ),
        pytest.param(nothing, image("main", "example.test/main:1"), "", id="the same image"),
        pytest.param(terminating, image("main", "x:2"), "", id="image of a terminating pod"),
        pytest.param(nothing, labels(**{MARK: "1"}), "UPDATE pods p", id="unavailable label"),
        pytest.param(marked, labels(**{MARK: "2"}), "", id="another value of that label"),
        pytest.param(marked, labels(**{MARK: None}), "", id="that label taken away"),
        pytest.param(nothing, labels(other="x"), "", id="another label"),
        pytest.param(nothing, labels(of=None), "", id="no label any more"),
        pytest.param(
            nothing, patch({"metadata": {"annotations": {"a": "b"}}}), "", id="annotation"
        ),
        pytest.param(nothing, patch({"spec": {"tolerations": [TOLERATION]}}), "", id="toleration"),
        pytest.param(
            nothing, patch({"spec": {"activeDeadlineSeconds": 9}}), "UPDATE pods p", id="deadline"
        ),
        pytest.param(
            limited,
            patch({"spec": {"activeDeadlineSeconds": 9}}),
            "UPDATE pods p",
            id="earlier deadline",
        ),
        pytest.param(limited, labels(other="x"), "", id="a deadline that stays"),
        pytest.param(
            terminating, patch({"metadata": {"finalizers": None}}), "", id="the last finalizer"
        ),
        pytest.param(nothing, finished, "", id="status"),
        pytest.param(
            nothing, resize(memory="96Mi"), f"UPDATE {resizes.RESIZES} p", id="restarting resize"
        ),
        pytest.param(nothing, resize(cpu="150m"), "", id="resize without a restart"),
        pytest.param(nothing, create_another, "", id="create"),
        pytest.param(nothing, bind, "", id="bind"),
    ],
)
async def test_only_requests_that_may_disrupt_a_pod_reach_the_gate(
    cluster: Cluster, namespace: str, before: Step, step: Step, asked: str
) -> None:
    async with gate_in(cluster, namespace) as gate:
        finalizers = ["intact.dev/test"] if before is terminating else []
        await gate.make(finalizers=finalizers, labels={"of": "collection"})
        await before(gate)
        await cached(gate.client, PODS, "p", namespace)
        gate.asked.clear()
        await step(gate)
        # The API server asks twice about one deletion if its cache was behind.
        found = list(dict.fromkeys(gate.asked))
        with suppress(NotFound):
            await gate.patch({"metadata": {"finalizers": None}})
        assert found == ([asked] if asked else [])


async def test_requests_of_namespaces_that_are_not_gated_never_reach_the_gate(
    cluster: Cluster, namespace: str
) -> None:
    async with gate_in(cluster, namespace) as gate:
        client = gate.client
        plain = f"plain-{uuid.uuid4().hex[:8]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plain}}
        await client.create(NAMESPACES, body)
        await label(client, "kube-system")
        gate.namespaces |= {plain, "kube-system"}
        try:
            for where in (plain, "kube-system"):
                for name in ("one", "two"):
                    await _make_when_possible(gate, name, where)
                await client.delete(PODS, "one", where)
                await client.evict(PODS, "two", where)
        finally:
            await client.patch(
                NAMESPACES, {"metadata": {"labels": {GATED_LABEL: None}}}, "kube-system"
            )
            await client.delete(NAMESPACES, plain)
        assert gate.asked == []


async def _make_when_possible(gate: Gate, name: str, namespace: str) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await gate.make(name, namespace=namespace)
            except ApiError as error:  # the default ServiceAccount is created a moment later
                if "serviceaccount" not in str(error):
                    raise
                await asyncio.sleep(0.05)
            else:
                return


async def test_budgets_are_validated_when_they_are_written(
    cluster: Cluster, namespace: str
) -> None:
    async with gate_in(cluster, namespace) as gate:
        client = gate.client
        await client.create(PUBS, budget(amount(1), finalizers=["intact.dev/test"]), namespace)
        await client.patch(PUBS, {"spec": {"maxUnavailable": 2}}, "budget", namespace)
        written = [
            "CREATE podunavailablebudgets budget",
            "UPDATE podunavailablebudgets budget",
        ]
        assert gate.asked == written

        status = {"status": {"observedGeneration": 1}}
        await client.patch(PUBS, status, "budget", namespace, subresource="status")
        await client.delete(PUBS, "budget", namespace)
        await client.patch(PUBS, {"metadata": {"finalizers": None}}, "budget", namespace)
        assert gate.asked == written
        with pytest.raises(NotFound):
            await client.get(PUBS, "budget", namespace)


async def test_with_intact_down_only_disruptions_in_gated_namespaces_are_refused(
    cluster: Cluster, namespace: str
) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        gate = Gate(client, namespace)
        plain = f"plain-{uuid.uuid4().hex[:8]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plain}}
        await client.create(NAMESPACES, body)
        await label(client, namespace)
        # Port 1 is closed.
        async with registered(client, UrlAddress(HOST, 1), new_authority(datetime.now(UTC)).bundle):
            await gate.make()
            await gate.make("going", finalizers=["intact.dev/test"])
            await _until_refused(gate)

            with pytest.raises(ServerError, match=r"failed calling webhook .*pods.gate.intact.dev"):
                await gate.delete()
            with pytest.raises(ServerError, match=r"evictions.gate.intact.dev"):
                await client.evict(PODS, "p", namespace)
            with pytest.raises(ServerError, match=r"pods.gate.intact.dev"):
                await image("main", "x:2")(gate)
            with pytest.raises(ServerError, match=r"budgets.intact.dev"):
                await client.create(PUBS, budget(amount(1)), namespace)

            await labels(other="x")(gate)
            await patch({"metadata": {"annotations": {"a": "b"}}})(gate)
            await finished(gate)
            await gate.delete()
            await gate.make("new")

            for name in ("one", "two"):
                await _make_when_possible(gate, name, plain)
            await client.patch(PODS, {"metadata": {"labels": {MARK: "1"}}}, "one", plain)
            await client.delete(PODS, "one", plain)
            await client.evict(PODS, "two", plain)
        await client.patch(PODS, {"metadata": {"finalizers": None}}, "going", namespace)
        await client.delete(NAMESPACES, plain)


async def test_with_intact_down_a_terminating_pod_still_ends(
    cluster: Cluster, namespace: str
) -> None:
    async with gate_in(cluster, namespace) as gate:
        await gate.make(finalizers=["intact.dev/test"])
        await gate.delete()
        down = Registration(
            gate.client,
            lambda: validating_configuration(
                UrlAddress(HOST, 1), new_authority(datetime.now(UTC)).bundle
            ),
        )
        await down.ensure()
        await gate.make("other")
        await _until_refused(gate, "other")
        await gate.delete(grace_period_seconds=0)
        await gate.patch({"metadata": {"finalizers": None}})
        with pytest.raises(NotFound):
            await gate.client.get(PODS, "p", namespace)


async def test_with_intact_down_a_namespace_can_still_be_deleted(cluster: Cluster) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        doomed = f"doomed-{uuid.uuid4().hex[:8]}"
        gate = Gate(client, doomed)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": doomed}}
        await client.create(NAMESPACES, body)
        await label(client, doomed)
        async with registered(client, UrlAddress(HOST, 1), new_authority(datetime.now(UTC)).bundle):
            await _make_when_possible(gate, "p", doomed)
            await _until_refused(gate)
            await client.delete(NAMESPACES, doomed)
            # The namespace controller takes long if many namespaces terminate at once.
            async with asyncio.timeout(300):
                while (await client.list(NAMESPACES, fields=f"metadata.name={doomed}")).items:
                    await asyncio.sleep(0.1)


async def _until_refused(gate: Gate, name: str = "p") -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await gate.client.delete(PODS, name, gate.namespace, dry_run=True)
            except ServerError:
                return
            await asyncio.sleep(0.05)


async def test_edits_of_the_registration_are_undone(cluster: Cluster) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        bundle = new_authority(datetime.now(UTC)).bundle
        wanted = validating_configuration(UrlAddress(HOST, 1), bundle)
        registration = Registration(client, lambda: wanted)
        async with registered(client, UrlAddress(HOST, 1), bundle):
            right = (await client.get(RAW, NAME))["webhooks"]
            keeping = asyncio.create_task(registration.keep_registered())
            try:
                for edit in EDITS:
                    found = await client.get(RAW, NAME)
                    edit(found["webhooks"])
                    await client.update(RAW, found, NAME)
                    await until_webhooks(client, right)
                await client.delete(RAW, NAME)
                await until_webhooks(client, right)

                other = new_authority(datetime.now(UTC)).bundle
                wanted = validating_configuration(UrlAddress(HOST, 1), other)
                registration.recheck()
                async with asyncio.timeout(60):
                    while not _trusts(await client.get(RAW, NAME), other):
                        await asyncio.sleep(0.02)
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)


def _ignore(webhooks: list[Json]) -> None:
    webhooks[0]["failurePolicy"] = "Ignore"


def _select(webhooks: list[Json]) -> None:
    webhooks[0]["objectSelector"] = {"matchLabels": {"no": "pod"}}


def _never(webhooks: list[Json]) -> None:
    webhooks[0]["matchConditions"].append({"name": "never", "expression": "false"})


def _fewer(webhooks: list[Json]) -> None:
    del webhooks[1]


def _more(webhooks: list[Json]) -> None:
    webhooks.append(dict(webhooks[0], name="more.intact.dev"))


EDITS = [_ignore, _select, _never, _fewer, _more]


async def until_webhooks(client: Client, right: list[Json]) -> None:
    async with asyncio.timeout(60):
        while True:
            with suppress(NotFound):
                if (await client.get(RAW, NAME))["webhooks"] == right:
                    return
            await asyncio.sleep(0.02)


def _trusts(found: Json, bundle: bytes) -> bool:
    wanted = base64.b64encode(bundle).decode()
    return all(each["clientConfig"]["caBundle"] == wanted for each in found["webhooks"])


async def test_a_correct_registration_is_not_written_again(cluster: Cluster) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        wanted = validating_configuration(
            UrlAddress(HOST, 1), new_authority(datetime.now(UTC)).bundle
        )
        one, two = Registration(client, lambda: wanted), Registration(client, lambda: wanted)
        try:
            assert sorted(await asyncio.gather(one.ensure(), two.ensure())) == [False, True]
            before = await client.get(VALIDATING, NAME)
            for each in (one, two, Registration(client, lambda: wanted)):
                assert await each.ensure() is False
            after = await client.get(VALIDATING, NAME)
            assert after.metadata.resource_version == before.metadata.resource_version
        finally:
            await client.delete(RAW, NAME)
