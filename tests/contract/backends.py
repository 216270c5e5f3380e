"""The two servers that keep one contract, behind one interface."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal, Protocol

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client
from intact.kube.errors import AlreadyExists, NotFound
from intact.kube.http import HttpTransport
from intact.kube.resources import Resource, untyped
from intact.sandbox import MemoryApi, Rule
from tests.support.objects import (
    CONFIGMAPS,
    CRDS,
    NAMESPACES,
    NODES,
    PDBS,
    PODS,
    WIDGETS,
    Json,
    configmap,
    definition,
)
from tests.support.webhooks import Hook, WebhookServer, webhook_server

Phase = Literal["mutating", "validating"]

PROBE = "contract-probe"
NO_PROBE: Json = {"matchExpressions": [{"key": PROBE, "operator": "DoesNotExist"}]}


class Backend(Protocol):
    client: Client
    namespace: str
    node: str
    """A node without a kubelet: nothing happens to its pods."""
    warnings: list[str]
    """Warnings of the server."""

    def expire(self) -> None:
        """Make every resource version up to now too old to watch ConfigMaps from."""

    async def admit(
        self, name: str, phase: Phase, operations: list[str], resources: list[str], hook: Hook
    ) -> None:
        """Ask the hook about these operations on core and contract resources of the namespace."""

    async def budget_counted(self, name: str, allowed: int) -> None:
        """Wait until the disruption controller has counted the budget, or write its status."""


class RealBackend:
    def __init__(
        self,
        cluster: Cluster,
        client: Client,
        namespace: str,
        server: WebhookServer,
        warnings: list[str],
    ) -> None:
        self.client = client
        self.namespace = namespace
        self.node = f"bare-{namespace}"
        self.warnings = warnings
        self._cluster = cluster
        self._server = server
        self._registered: list[tuple[Phase, str]] = []

    def expire(self) -> None:
        self._cluster.compact()

    async def admit(
        self, name: str, phase: Phase, operations: list[str], resources: list[str], hook: Hook
    ) -> None:
        kind = f"{phase.capitalize()}WebhookConfiguration"
        probed = asyncio.Event()

        async def probe(_: Json) -> Json:
            probed.set()
            return {"allowed": True}

        full_name = f"{name}.{self.namespace}.intact.dev"
        self._server.hooks[full_name] = hook
        self._server.hooks[f"probe.{full_name}"] = probe
        label = {PROBE: name}
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": full_name},
            "webhooks": [
                self._webhook(full_name, operations, resources, NO_PROBE),
                self._webhook(
                    f"probe.{full_name}", ["CREATE"], ["configmaps"], {"matchLabels": label}
                ),
            ],
        }
        await self.client.create(_webhook_configurations(phase), body)
        self._registered.append((phase, full_name))
        # The API server asks a new webhook once its own watch has brought the registration.
        while not probed.is_set():
            await self.client.create(
                CONFIGMAPS, configmap("probe", labels=label), self.namespace, dry_run=True
            )

    async def budget_counted(self, name: str, allowed: int) -> None:
        # A controller that sees the budget before its pods counts it without them first.
        expected, healthy = await _pods(self.client, self.namespace)
        async with asyncio.timeout(60):
            while True:
                found = await self.client.get(PDBS, name, self.namespace)
                status = found.get("status", {})
                counted = (
                    status.get("observedGeneration") == found["metadata"]["generation"]
                    and status["expectedPods"] == expected
                    and status["currentHealthy"] == healthy
                )
                if counted and status["disruptionsAllowed"] == allowed:
                    return
                await asyncio.sleep(0.02)

    async def clean_up(self) -> None:
        for phase, name in self._registered:
            await self.client.delete(_webhook_configurations(phase), name)
        await self.client.delete(NODES, self.node)

    def _webhook(
        self, name: str, operations: list[str], resources: list[str], selector: Json
    ) -> Json:
        return {
            "name": name,
            "clientConfig": self._server.client_config(name),
            "rules": [
                {
                    "apiGroups": ["", WIDGETS.group, "policy"],
                    "apiVersions": ["v1"],
                    "operations": operations,
                    "resources": resources,
                }
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "objectSelector": selector,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }


async def _pods(client: Client, namespace: str) -> tuple[int, int]:
    """The number of pods that a budget counts, and how many of them are ready."""
    pods = (await client.list(PODS, namespace, labels="app=a")).items
    conditions = [pod["status"].get("conditions", []) for pod in pods]
    ready = [
        each
        for each in conditions
        if any(one["type"] == "Ready" and one["status"] == "True" for one in each)
    ]
    return len(pods), len(ready)


async def cached(client: Client, resource: Resource[Json], name: str, namespace: str) -> None:
    """Wait until the server's cache has the stored version of the object. If the cache is behind,
    the server asks webhooks about the old version first, and then again."""
    found = await client.get(resource, name, namespace)
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    await client.raw(resource.path(namespace, name), version)


def _webhook_configurations(phase: Phase) -> Resource[Json]:
    return untyped(
        "admissionregistration.k8s.io",
        "v1",
        f"{phase}webhookconfigurations",
        f"{phase.capitalize()}WebhookConfiguration",
        namespaced=False,
    )


@asynccontextmanager
async def real_backend(cluster: Cluster, namespace: str) -> AsyncGenerator[Backend, None]:
    warnings: list[str] = []
    transport = HttpTransport(config.load(str(cluster.kubeconfig)))
    async with Client(transport, on_warning=warnings.append) as client, webhook_server() as server:
        backend = RealBackend(cluster, client, namespace, server, warnings)
        await client.create(NODES, {"metadata": {"name": backend.node}})
        with suppress(AlreadyExists):
            await client.create(CRDS, definition(WIDGETS))
        await _until_found(client, namespace)
        try:
            yield backend
        finally:
            await backend.clean_up()


async def _until_found(client: Client, namespace: str) -> None:
    """Wait until widgets are served, and the ConfigMap that every namespace gets is there: its
    creation must not happen during a test."""
    async with asyncio.timeout(60):
        while True:
            try:
                await client.list(WIDGETS, namespace)
                await client.get(CONFIGMAPS, "kube-root-ca.crt", namespace)
            except NotFound:
                await asyncio.sleep(0.02)
            else:
                return


class MemoryBackend:
    def __init__(self, api: MemoryApi, client: Client, warnings: list[str]) -> None:
        self.client = client
        self.namespace = "contract"
        self.node = "bare"
        self.warnings = warnings
        self._api = api

    def expire(self) -> None:
        self._api.faults.expire()

    async def admit(
        self, name: str, phase: Phase, operations: list[str], resources: list[str], hook: Hook
    ) -> None:
        self._api.admit(
            f"{name}.intact.dev",
            hook,
            [Rule(tuple(resources), tuple(operations))],
            mutating=phase == "mutating",
        )

    async def budget_counted(self, name: str, allowed: int) -> None:
        expected, healthy = await _pods(self.client, self.namespace)
        budget = await self.client.get(PDBS, name, self.namespace)
        budget["status"] = {
            "observedGeneration": budget["metadata"]["generation"],
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": budget["spec"]["minAvailable"],
            "expectedPods": expected,
        }
        await self.client.update(PDBS, budget, name, self.namespace, subresource="status")


@asynccontextmanager
async def memory_backend() -> AsyncGenerator[Backend, None]:
    api = MemoryApi()
    warnings: list[str] = []
    async with Client(api, on_warning=warnings.append) as client:
        backend = MemoryBackend(api, client, warnings)
        await client.create(NAMESPACES, {"metadata": {"name": backend.namespace}})
        await client.create(NODES, {"metadata": {"name": backend.node}})
        await client.create(CRDS, definition(WIDGETS))
        yield backend
