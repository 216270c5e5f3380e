"""Requests, events and leases of our client, as kubectl and the API server see them."""

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from intact.kube import config
from intact.kube.client import Client, PatchType
from intact.kube.errors import Conflict, Forbidden, NotFound
from intact.kube.events import COMBINED, EventRecorder
from intact.kube.http import HttpTransport
from intact.kube.lease import Election, Timing
from intact.kube.resources import LEASES, PODS
from intact.model.event import ObjectReference
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.objects import CONFIGMAPS, NAMESPACES, configmap, pod

# Renewed often, and not lost while this process gets no CPU time.
FAST = Timing(duration=90.0, renew_deadline=60.0, retry_period=0.2)


@asynccontextmanager
async def client_of(cluster: Cluster) -> AsyncGenerator[Client, None]:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        yield client


@asynccontextmanager
async def recorder_of(client: Client) -> AsyncGenerator[EventRecorder, None]:
    recorder = EventRecorder(client, "intact", "test")
    running = asyncio.create_task(recorder.run())
    try:
        yield recorder
        async with asyncio.timeout(30):
            await recorder.flush()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def kubectl(cluster: Cluster, *arguments: str) -> str:
    command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def events_of(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    found = json.loads(kubectl(cluster, "get", "events", "-n", namespace, "-o", "json"))["items"]
    return [event for event in found if event["source"].get("component") == "intact"]


def reference(namespace: str, name: str = "p") -> ObjectReference:
    return ObjectReference(
        api_version="v1", kind="Pod", namespace=namespace, name=name, uid="0123-4567"
    )


class TestRequests:
    async def test_selectors_with_everything_that_must_be_quoted(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            for name in ("a", "b", "c"):
                body = configmap(name, labels={"intact.dev/name": name})
                await client.create(CONFIGMAPS, body, namespace)
            found = await client.list(
                CONFIGMAPS,
                namespace,
                labels="intact.dev/name in (a, b),!other",
                fields="metadata.name!=b",
            )
        assert [item["metadata"]["name"] for item in found.items] == ["a"]

    async def test_pages_of_a_list_have_the_size_asked_for(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            labels = {"mine": "yes"}
            for number in range(5):
                await client.create(CONFIGMAPS, configmap(f"c{number}", labels=labels), namespace)
            pages = client.pages(CONFIGMAPS, namespace, labels="mine=yes", limit=2)
            sizes = [len(page.items) async for page in pages]
        assert sizes == [2, 2, 1]

    async def test_a_delete_with_another_uid_conflicts(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            made = await client.create(CONFIGMAPS, configmap("c"), namespace)
            with pytest.raises(Conflict):
                await client.delete(CONFIGMAPS, "c", namespace, uid="another")
            await client.delete(CONFIGMAPS, "c", namespace, uid=made["metadata"]["uid"])
            with pytest.raises(NotFound):
                await client.get(CONFIGMAPS, "c", namespace)

    async def test_an_apply_is_stored_under_its_field_manager(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            made = await client.patch(
                CONFIGMAPS,
                configmap("c", {"k": "v"}),
                "c",
                namespace,
                type=PatchType.APPLY,
                field_manager="my-manager",
            )
        [entry] = made["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("my-manager", "Apply")

    async def test_an_eviction_with_another_uid_conflicts(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            made = await client.create(PODS, pod("p"), namespace)
            with pytest.raises(Conflict):
                await client.evict(PODS, "p", namespace, uid="another")
            await client.evict(PODS, "p", namespace, uid=made.metadata.uid, grace_period_seconds=0)

    async def test_a_forbidden_request_names_user_verb_and_resource(
        self, cluster: Cluster, namespace: str, tmp_path: Path
    ) -> None:
        admin = json.loads(cluster.kubeconfig.read_text())["users"][0]["user"]
        kubeconfig = write_kubeconfig(cluster, tmp_path / "config", user=admin | {"as": "jane"})
        async with Client(HttpTransport(config.load(str(kubeconfig)))) as client:
            with pytest.raises(Forbidden, match='User "jane" cannot list resource "pods" in API'):
                await client.list(PODS, namespace)
            with pytest.raises(Forbidden, match='User "jane" cannot watch resource "pods" in API'):
                async with client.watch(PODS, namespace):
                    pass


class TestEvents:
    async def test_the_same_event_again_raises_the_count(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client, recorder_of(client) as recorder:
            for _ in range(3):
                recorder.record(reference(namespace), "Warning", "Denied", "the budget is spent")
        [event] = events_of(cluster, namespace)
        assert event["count"] == 3
        assert event["reportingComponent"] == "intact"
        assert recorder.dropped == 0
        line = kubectl(cluster, "get", "events", "-n", namespace, "--no-headers")
        assert line.split()[1:] == ["Warning", "Denied", "pod/p", "the", "budget", "is", "spent"]

    async def test_kubectl_describe_shows_the_event_of_an_object(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            made = await client.create(PODS, pod("p"), namespace)
            about = ObjectReference(
                api_version="v1", kind="Pod", namespace=namespace, name="p", uid=made.metadata.uid
            )
            async with recorder_of(client) as recorder:
                recorder.record(about, "Normal", "Waits", "for its group")
        assert "for its group" in kubectl(cluster, "describe", "pod", "p", "-n", namespace)

    async def test_similar_events_are_combined(self, cluster: Cluster, namespace: str) -> None:
        async with client_of(cluster) as client, recorder_of(client) as recorder:
            for number in range(13):
                recorder.record(reference(namespace), "Normal", "Waits", f"for pod {number}")
        counts = {event["message"]: event["count"] for event in events_of(cluster, namespace)}
        assert len(counts) == 11
        assert counts[f"{COMBINED}for pod 12"] == 3

    async def test_a_long_event_message_is_cut(self, cluster: Cluster, namespace: str) -> None:
        async with client_of(cluster) as client, recorder_of(client) as recorder:
            about = reference(namespace, "-".join(["n" * 62] * 4))
            recorder.record(about, "Normal", "Long", "é" * 5000)
        [event] = events_of(cluster, namespace)
        assert event["message"].endswith("é...")

    async def test_an_event_about_a_cluster_scoped_object_is_in_default(
        self, cluster: Cluster, namespace: str
    ) -> None:
        about = ObjectReference(api_version="v1", kind="Node", name=f"node-of-{namespace}")
        async with client_of(cluster) as client, recorder_of(client) as recorder:
            recorder.record(about, "Normal", "Drained", "empty")
        assert recorder.dropped == 0
        found = [event["involvedObject"]["name"] for event in events_of(cluster, "default")]
        assert about.name in found

    async def test_an_event_in_a_terminating_namespace_is_dropped_quietly(
        self, cluster: Cluster, namespace: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        ending = f"{namespace}-ends"
        async with client_of(cluster) as client:
            await client.create(NAMESPACES, {"metadata": {"name": ending}})
            keeps_it = configmap("keeps-it", finalizers=["intact.dev/test"])
            await client.create(CONFIGMAPS, keeps_it, ending)
            await client.delete(NAMESPACES, ending)
            async with recorder_of(client) as recorder:
                recorder.record(reference(ending), "Normal", "Ends", "too")
            await client.patch(CONFIGMAPS, {"metadata": {"finalizers": None}}, "keeps-it", ending)
        assert recorder.dropped == 1
        assert [each for each in caplog.records if each.name == "intact.kube.events"] == []


class TestLease:
    @staticmethod
    @asynccontextmanager
    async def candidate(
        client: Client, namespace: str, identity: str
    ) -> AsyncGenerator[Election, None]:
        election = Election(client, namespace, "intact", identity, timing=FAST)
        running = asyncio.create_task(election.run(lambda: asyncio.sleep(3600)))
        try:
            yield election
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    @staticmethod
    async def until_leading(election: Election) -> None:
        async with asyncio.timeout(30):
            while not election.leads:
                await asyncio.sleep(0.02)

    async def test_kubectl_shows_the_holder_of_the_lease(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            async with self.candidate(client, namespace, "me-myself") as election:
                await self.until_leading(election)
                line = await asyncio.to_thread(
                    kubectl, cluster, "get", "lease", "-n", namespace, "--no-headers"
                )
                assert line.split()[:2] == ["intact", "me-myself"]
            spec = (await client.get(LEASES, "intact", namespace)).spec
        assert spec.holder_identity in ("", None)
        assert (spec.lease_duration_seconds, spec.lease_transitions) == (1, 0)

    async def test_the_lease_is_renewed_and_handed_over(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with client_of(cluster) as client:
            async with self.candidate(client, namespace, "first") as first:
                await self.until_leading(first)
                begun = (await client.get(LEASES, "intact", namespace)).spec
                async with asyncio.timeout(30):
                    while (await client.get(LEASES, "intact", namespace)).spec == begun:
                        await asyncio.sleep(0.02)
                renewed = (await client.get(LEASES, "intact", namespace)).spec
                assert renewed.acquire_time == begun.acquire_time
            async with self.candidate(client, namespace, "second") as second:
                await self.until_leading(second)
                assert not first.leads
                taken = (await client.get(LEASES, "intact", namespace)).spec
        assert (taken.holder_identity, taken.lease_transitions) == ("second", 1)

    async def test_a_lease_that_was_deleted_is_made_anew(
        self, cluster: Cluster, namespace: str
    ) -> None:
        async with (
            client_of(cluster) as client,
            self.candidate(client, namespace, "me") as election,
        ):
            await self.until_leading(election)
            first = await client.get(LEASES, "intact", namespace)
            await client.delete(LEASES, "intact", namespace)
            async with asyncio.timeout(30):
                while election.transitions < 2:
                    await asyncio.sleep(0.02)
            second = await client.get(LEASES, "intact", namespace)
        assert second.spec.holder_identity == "me"
        assert second.metadata.uid != first.metadata.uid
